"""Processes that a command of the process engine left behind: found through /proc and killed.

A process is the box's if its environment carries the box's marker or if it belongs to the command's session.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

MARKER = "HONED_BOX"
_PROC = Path("/proc")
_ROUNDS = 200
"""Looks until nothing is found any more: a process may fork while we look."""


def mark(owner: str, attempt_id: str) -> str:
    """The marker's value for one box of one owner."""
    return f"{_short(owner)}:{attempt_id}"


def kill_box(marker: str, session: int) -> int:
    """Kill what carries the marker or is of the session, until nothing does; returns how many were found. Blocking."""
    entry = f"{MARKER}={marker}".encode()
    return len(_kill_all(lambda pid: entry in _environment(pid) or _session(pid) == session))


def marked(owner: str) -> dict[str, str]:
    """Attempts of this owner whose processes still run, each with a name for them. Blocking."""
    prefix = f"{MARKER}={_short(owner)}:".encode()
    entries = (entry for pid in _pids() for entry in _environment(pid) if entry.startswith(prefix))
    attempts = sorted({entry.removeprefix(prefix).decode("utf-8", "replace") for entry in entries})
    return {attempt: f"processes of {attempt}" for attempt in attempts}


def kill_marked(owner: str, name: str) -> bool:
    """Kill the processes of that name (`marked`), until there are none; False if there were none. Blocking."""
    entry = f"{MARKER}={mark(owner, name.removeprefix('processes of '))}".encode()
    return bool(_kill_all(lambda pid: entry in _environment(pid)))


def _kill_all(wanted: Callable[[int], bool]) -> set[int]:
    killed: set[int] = set()
    for _ in range(_ROUNDS):
        found = {pid for pid in _pids() if wanted(pid)}
        if not found:
            break
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed |= found
        time.sleep(0.005)
    return killed


def _pids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            yield int(entry.name)


def _environment(pid: int) -> tuple[bytes, ...]:
    """Entries of its environment; empty for a zombie or somebody else's process."""
    try:
        return tuple((_PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        return ()


def _session(pid: int) -> int | None:
    """Its session; None for a zombie, which is dead already."""
    try:
        after_name = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if after_name[0] in {"Z", "X"} else int(after_name[3])


def _short(owner: str) -> str:
    return hashlib.sha256(owner.encode()).hexdigest()[:8]
