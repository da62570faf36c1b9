"""A task set that Python makes: an entry point of the group `honed.tasks`, named as `python:NAME` in `[tasks] path`.

The entry point is an iterable of `Task`s, or a function without arguments that gives one; each task has what a
tasks.jsonl would give. Whatever a plug-in does wrong is one line that names it; its own traceback goes to the log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, get_args

import structlog

from daemon.tasks.formats.found import Found, attempt
from daemon.tasks.formats.paths import check_task_id, clashing, inside_path, workspace_path
from daemon.tasks.task import MAX_WEIGHT, Network, ScorerSpec, Split, Task, TaskError

GROUP = "honed.tasks"
PREFIX = "python:"
MAX_SECONDS = 7 * 86_400

log = structlog.get_logger(__name__)


def plugin_name(path: Path) -> str | None:
    """NAME of `python:NAME`, which `[tasks] path` may be; None for other paths."""
    return path.name.removeprefix(PREFIX) if path.name.startswith(PREFIX) and not path.exists() else None


def scan_plugin(name: str) -> Iterator[Found]:
    """Every task or fault, in order; raises `TaskError` if the plug-in cannot be used or gives up on the way."""
    place = f"{PREFIX}{name}"
    for number, item in enumerate(_items(place, _entry_point(name)), start=1):
        yield attempt(f"{place}[{number}]", partial(_checked, f"{place}[{number}]", item))


def _entry_point(name: str) -> EntryPoint:
    installed = entry_points(group=GROUP)
    if name not in installed.names:
        known = ", ".join(sorted(installed.names)) or "none is installed"
        msg = f"{PREFIX}{name}: no entry point of the group {GROUP} has this name ({known}): install its package"
        raise TaskError(msg)
    return next(iter(installed.select(name=name)))


def _items(place: str, point: EntryPoint) -> Iterator[object]:
    # A stranger's code: whatever it raises is its fault, said with its name, and the traceback is logged.
    try:
        made = point.load()
        yield from made() if callable(made) else made
    except Exception as error:
        log.exception("task_plugin_failed", entry_point=point.value)
        what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        msg = f"{place}: the plug-in {point.value} failed: {what}: mend it, or ask its authors"
        raise TaskError(msg) from error


def _checked(where: str, item: object) -> Task:
    if not isinstance(item, Task):
        msg = f"{where}: is a {type(item).__name__}, not a daemon.tasks.task.Task: mend the plug-in"
        raise TaskError(msg)
    for key, wrong in _faults(item).items():
        if wrong:
            raise TaskError(f"{where}: {key}: {wrong}")
    return item


def _faults(task: Task) -> Mapping[str, str]:
    """By key, what no plug-in may give; empty text where all is well."""
    return {
        "id": _said(check_task_id, task.id),
        "prompt": "" if isinstance(task.prompt, str) and task.prompt.strip() else "must be a text that is not blank",
        "scorer": "" if isinstance(task.scorer, ScorerSpec) else "must be a ScorerSpec",
        "files": _files(task.files, shown=True),
        "tests": _files(task.tests, shown=False),
        "split": "" if task.split is None or task.split in get_args(Split) else "must be train, selection or test",
        "group": "" if isinstance(task.group, str) and len(task.group) <= 200 else "must be a text of at most 200",
        "network": "" if task.network in get_args(Network) else "must be none, allowed or required",
        "steps": "are for Harbor folders alone: give each step as a task of its own" if task.steps else "",
        "weight": _number(task.weight, MAX_WEIGHT),
        "timeout_s": _number(task.timeout_s, MAX_SECONDS),
        "verifier_timeout_s": _number(task.verifier_timeout_s, MAX_SECONDS),
    }


def _said(check: Any, value: object) -> str:
    try:
        check(value)
    except (ValueError, TypeError) as error:
        return str(error)
    return ""


def _number(value: object, most: float) -> str:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return "" if fits and 0 < value <= most else f"must be a number above 0 and up to {most:.0f}"  # type: ignore[operator]


def _files(files: object, *, shown: bool) -> str:
    if not isinstance(files, Mapping):
        return "must be a mapping of paths"
    for path, source in files.items():
        if wrong := _said(workspace_path if shown else inside_path, path):
            return wrong
        if not isinstance(source, Path) or not source.is_file():
            return f"{str(source)[:200]!r} is no file"
    clash = clashing(list(files))
    return f"{clash!r} is both a file and a folder" if clash else ""
