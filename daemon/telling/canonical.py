"""One canonical log line for each step and run, with what its attempts came to; an attempt's own is the rollouts'.

Invariants: from a run's beginning to its end every line of its task carries `run`; what was read back from the journal
is counted apart and costs nothing. The fields are described in docs/daemon.md.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from daemon.rollouts.progress import (
    AttemptFinished,
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
    kinds_of,
)

log = structlog.get_logger(__name__)


@dataclass
class Sums:
    """What attempts came to since a moment."""

    attempts: int = 0
    """Made, whatever came of them."""
    invalid: int = 0
    reused: int = 0
    """Read back from the journal: not among `attempts`."""
    tokens: int = 0
    usd: float | None = 0.0
    """None: a price is unknown."""
    began: float = field(default_factory=time.monotonic)

    def add(self, event: AttemptFinished) -> None:
        """Count an attempt."""
        if event.reused:
            self.reused += 1
            return
        self.attempts += 1
        self.invalid += event.score is None
        self.tokens += event.tokens
        self.usd = None if self.usd is None or event.usd is None else self.usd + event.usd

    def fields(self) -> dict[str, Any]:
        """As fields of a log line."""
        return {
            "attempts": self.attempts,
            "invalid": self.invalid,
            "reused": self.reused,
            "tokens": self.tokens,
            "usd": None if self.usd is None else round(self.usd, 6),
            "wall_s": round(time.monotonic() - self.began, 3),
        }


class Canonical:
    """An `Observer` that writes the lines. Called in the run's own task, so that what it binds holds there."""

    def __init__(self, **bound: str | int) -> None:
        """`bound` goes on every line of the task from the run's beginning on: `project` and `job`, where there are."""
        self._bound: Mapping[str, str | int] = bound
        self._skill = ""
        self._resumed = False
        self._run = Sums()
        self._step = Sums()
        self._outcomes: Counter[str] = Counter()
        self._decided = 0
        self._at = 0

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        match event:
            case RunStarted():
                structlog.contextvars.bind_contextvars(**self._bound, run=event.run_id)
                self._skill, self._resumed = event.skill, event.resumed
                self._run, self._step, self._outcomes = Sums(), Sums(), Counter()
                self._decided = self._at = 0
            case AttemptFinished():
                self._run.add(event)
                self._step.add(event)
            case PhaseStarted():
                if event.step != self._at:  # what came before the steps is none of theirs
                    self._at, self._step = event.step, Sums()
            case StepDecided():
                self._decided += 1
                self._line(event, "step", {"steps": event.steps, "edits": event.edits})
            case SlowUpdateDecided():
                self._line(event, "slow_update", {"epoch": event.epoch})
            case RunEnded():
                self._end(event)

    def _line(self, event: StepDecided | SlowUpdateDecided, update: str, more: Mapping[str, Any]) -> None:
        """`tokens` and `usd` are those of the attempts since the decision before."""
        self._outcomes[event.outcome] += 1
        log.info(
            "step",
            step=event.step,
            update=update,
            outcome=event.outcome,
            reason=event.reason,
            before=event.before,
            after=event.after,
            commits=list(event.commits),
            flagged=kinds_of(event.flagged),
            replayed=event.replayed,
            **more,
            **self._step.fields(),
        )
        self._step = Sums()

    def _end(self, event: RunEnded) -> None:
        log.info(
            "run",
            run=event.run_id,
            skill=self._skill,
            state=event.state,
            reason=event.reason,
            resumed=self._resumed,
            steps=self._decided,
            accepted=self._outcomes["accepted"],
            rejected=self._outcomes["rejected"],
            **self._run.fields(),
        )
        structlog.contextvars.unbind_contextvars("run")
