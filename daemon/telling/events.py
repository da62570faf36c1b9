"""The daemon's events, and the bus that hands them to whoever listens. Nothing decides on them.

Invariants: publishing never blocks and never raises; a listener that lags loses the oldest events and is told how many.
Events hold metadata alone: no text of agents, tasks or models beyond one redacted sentence.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import structlog

EventKind = Literal[
    "daemon",  # started, draining, stopped, reloaded
    "noticed",  # a cause was seen
    "job",  # queued, started, waits, ended
    "run",  # a run began or ended
    "phase",
    "attempt",  # an attempt ended
    "step",  # a step or slow update came to its decision
    "published",
    "rejected-by-person",
    "paused",
    "resumed",
    "config",  # refused, taken over
    "broken",  # something of ours needs a person
    "house",  # housekeeping, disk
]

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class DaemonEvent:
    """Something that happened."""

    number: int
    """From 1 in each process, without gaps."""
    time: float
    """Unix time."""
    kind: EventKind
    what: str
    """One sentence for people."""
    project: str = ""
    job: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON-able facts; which ones depends on the kind."""


Listener = Callable[[DaemonEvent], None]


class Bus:
    """Keeps the newest events and hands each to every listener."""

    def __init__(self, *, keep: int = 2_000, clock: Callable[[], float] = time.time) -> None:
        self._kept: deque[DaemonEvent] = deque(maxlen=keep)
        self._listeners: list[Listener] = []
        self._clock = clock
        self._count = 0

    def publish(
        self, kind: EventKind, what: str, *, project: str = "", job: int | None = None, **data: Any
    ) -> DaemonEvent:
        """Tell everybody; a listener's fault is logged, and the others are told all the same."""
        self._count += 1
        event = DaemonEvent(self._count, self._clock(), kind, what, project, job, data)
        self._kept.append(event)
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                log.exception("a listener to events failed", kind=kind, listener=repr(listener))
        return event

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Call `listener` (quick, in the event loop) with each event from now on."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def since(self, number: int) -> tuple[DaemonEvent, ...]:
        """Those kept with a higher number, oldest first."""
        return tuple(event for event in self._kept if event.number > number)

    @property
    def newest(self) -> int:
        """Number of the newest event; 0 before the first."""
        return self._count
