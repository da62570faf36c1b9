"""What a run tells an observer arrives at a verb beside the daemon as it was told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.control.progress import progress_of
from daemon.control.wire import from_data, to_data
from daemon.rollouts.progress import (
    AttemptFinished,
    AttemptStarted,
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
)
from daemon.telling.events import Bus, DaemonEvent
from daemon.telling.observing import Publisher

EVENTS: list[Event] = [
    RunStarted("r1", "skills/greeter", resumed=True, steps=4, train=8, selection=6, test=3),
    PhaseStarted(0, "baseline"),
    PhaseStarted(2, "gate"),
    AttemptFinished("a1", "task-1", "codex", "completed", 1.0, True, 1200, 0.25, 3.5, reused=False),
    AttemptFinished("a2", "task-2", "chat", "provider_error", None, None, 0, None, 0.0, reused=True),
    StepDecided(2, 4, "accepted", "4 fixed", 0.5, 0.75, 2, replayed=False, commits=("c" * 40,)),
    StepDecided(3, 4, "rejected", "worse", None, None, 1, replayed=True),
    SlowUpdateDecided(4, 2, "rejected", "a tie is not better", 0.5, 0.5, replayed=False),
    RunEnded("r1", "done", "4 of 4 steps made"),
    RunEnded("r1", "stopped", "[budget.day] usd = 5 is used up"),
]


def sent(*events: Event) -> list[DaemonEvent]:
    """As they arrive beside a daemon whose run told them."""
    bus = Bus()
    publisher = Publisher(bus, "greeting", 3)
    publisher.notify(RunStarted("r1", "s", resumed=False, steps=1, train=1, selection=1, test=1))
    before = bus.newest
    for event in events:
        publisher.notify(event)
    return [from_data(DaemonEvent, json.loads(json.dumps(to_data(event)))) for event in bus.since(before)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_was_told_arrives(event: Event) -> None:
    [one] = sent(event)
    assert progress_of(one) == event


def test_beginnings_of_attempts_are_not_told() -> None:
    assert sent(AttemptStarted("a1", "task-1", "codex", 1)) == []


@pytest.mark.parametrize("kind", ["daemon", "noticed", "job", "published", "broken", "house"])
def test_other_events_are_no_progress(kind: Any) -> None:
    assert progress_of(DaemonEvent(1, 0.0, kind, "something", data={"state": "done"})) is None


@pytest.mark.parametrize("kind", ["run", "phase", "attempt", "step"])
@pytest.mark.parametrize("data", [{}, {"state": "started", "step": "x", "steps": None, "update": 1}])
def test_what_another_version_words_otherwise_is_none(kind: Any, data: dict[str, Any]) -> None:
    assert progress_of(DaemonEvent(1, 0.0, kind, "something", data=data)) is None
