"""What a format finds in a set: tasks and faults, in the order of the set, each with its place.

Invariant: a fault is given, never raised, so that whatever is behind it is still read. Only a set that cannot be opened
at all raises `TaskError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from daemon.tasks.task import Task, TaskError


@dataclass(frozen=True, slots=True)
class Span:
    """The bytes of a file that one task was read from."""

    start: int
    size: int
    line: int
    """Of its first byte, counted from 1."""


@dataclass(frozen=True, slots=True)
class Found:
    """One task, or what is wrong at its place. Exactly one of `task` and `error` is given."""

    where: str
    """File and line, or file: what an error message begins with."""
    task: Task | None = None
    error: TaskError | None = None
    span: Span | None = None
    """Where a large file is read again when the task is needed; None for sets of folders and plug-ins."""


def attempt(where: str, make: Callable[[], Task], span: Span | None = None) -> Found:
    """What `make` gives: its task, or the `TaskError` that it raises."""
    try:
        return Found(where, make(), span=span)
    except TaskError as error:
        return Found(where, error=error, span=span)


def placed(found: Iterable[Found]) -> Iterator[tuple[str, Task]]:
    """Every task with its place; raises the first fault."""
    for one in found:
        if one.error is not None:
            raise one.error
        assert one.task is not None, "a find is a task or a fault"
        yield one.where, one.task
