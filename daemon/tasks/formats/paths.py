"""Paths in task sets: names inside a workspace, and host files that must not leave the set's own folder."""

from __future__ import annotations

import re
from pathlib import Path

TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\\]")
_RESERVED = (("skill.md",), (".agents",), (".claude",), (".codex",))
"""First parts of paths that the harnesses lay themselves, in lower case."""


def check_task_id(task_id: str) -> str:
    """The id; raises `ValueError` if it is none."""
    if not TASK_ID.fullmatch(task_id):
        msg = f"{task_id[:80]!r} is no task id: use letters, digits, '.', '_', '-' (at most 128, no sign first)"
        raise ValueError(msg)
    return task_id


def inside_path(path: str) -> str:
    """A relative POSIX path that stays inside; raises `ValueError` saying why not."""
    parts = path.split("/")
    if path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        msg = f"{path[:120]!r} must be a plain relative path (no leading '/', no '.' or '..')"
        raise ValueError(msg)
    if _CONTROL.search(path) or not _fits(path):
        msg = f"{path[:120]!r} has a backslash, a control character or half a character, or is too long"
        raise ValueError(msg)
    return path


def _fits(path: str) -> bool:
    """A file system can hold it: UTF-8 of a bounded length, each name at most 255 bytes."""
    try:
        names = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold
        return False
    return max(names) <= 255 and sum(names) + len(names) - 1 <= 1024


def workspace_path(path: str) -> str:
    """A path for the agent's workspace; raises `ValueError` also for the places where the skill is laid."""
    inside_path(path)
    parts = tuple(path.lower().split("/"))
    if any(parts[: len(reserved)] == reserved for reserved in _RESERVED):
        msg = f"{path[:120]!r} is where honed lays the skill and the agent's settings: choose another name"
        raise ValueError(msg)
    return path


def host_file(folder: Path, path: str) -> Path:
    """The regular file at `path` under `folder`; raises `ValueError` if it is missing or a link leads out."""
    inside_path(path)
    found = folder / path
    if not found.is_file():
        msg = f"there is no file {path!r} under {folder}"
        raise ValueError(msg)
    resolved = found.resolve()
    if not resolved.is_relative_to(folder.resolve()):
        msg = f"{path!r} leads out of {folder}: copy the file in"
        raise ValueError(msg)
    return resolved


def clashing(paths: list[str]) -> str | None:
    """A path that is also a folder of another one, which no file system can hold; None if there is none."""
    known = set(paths)
    for path in sorted(paths):
        parts = path.split("/")
        for length in range(1, len(parts)):
            if "/".join(parts[:length]) in known:
                return "/".join(parts[:length])
    return None
