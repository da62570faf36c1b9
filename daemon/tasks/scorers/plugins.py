"""Scorers of other packages: entry points in the group `honed.scorers`, each a `ScorerKind` under its own name.

A package is imported when a task names its scorer and not before, so one that is broken hurts nobody else. What is
wrong with it is a `TaskError` that names the entry point and the package.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import structlog

from daemon.tasks.scorers.scorer import Options, ScorerKind
from daemon.tasks.task import TaskError

log = structlog.get_logger(__name__)

GROUP = "honed.scorers"


@lru_cache(maxsize=1)
def plugin_names() -> frozenset[str]:
    """The scorers that other packages declare; imports none of them."""
    return frozenset(found.name for found in entry_points(group=GROUP))


@lru_cache(maxsize=256)
def load_plugin(name: str) -> ScorerKind[Any]:
    """The scorer of that name; raises `TaskError` if its package is broken, or two packages declare it."""
    found = list(entry_points(group=GROUP, name=name))
    if len(found) > 1:
        msg = f"scorer: {name!r} is declared twice: by {' and by '.join(sorted(map(_origin, found)))}: remove one"
        raise TaskError(msg)
    [entry] = found
    try:
        kind = entry.load()
    # Somebody else's code, run by importing it: whatever it raises is told as its own.
    except Exception as error:
        log.exception("scorer_plugin_failed", entry_point=entry.value)
        raise _broken(entry, f"cannot be loaded: {type(error).__name__}: {error}") from error
    if not isinstance(kind, ScorerKind):
        raise _broken(entry, f"is a {type(kind).__name__}, not a daemon.tasks.scorers.scorer.ScorerKind")
    if kind.name != name:
        raise _broken(entry, f"calls itself {kind.name!r}: entry point and ScorerKind must have one name")
    if type(kind.version) is not int or kind.version < 1:
        raise _broken(entry, f"has the version {kind.version!r}: give a whole number from 1 on")
    if not (isinstance(kind.options, type) and issubclass(kind.options, Options)):
        raise _broken(entry, "has options that are no subclass of daemon.tasks.scorers.scorer.Options")
    return kind


def _origin(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "an unknown package"
    return f"{package} ({entry.value})"


def _broken(entry: EntryPoint, why: str) -> TaskError:
    return TaskError(f"scorer: {entry.name!r} of the package {_origin(entry)} {why}: mend or uninstall that package")
