"""The rejected-edit buffer: what this epoch's steps tried, and what it cost.

A fold over journaled decisions, so a resumed run remembers exactly what an undisturbed one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daemon.optimizer.decision import StepDecision
from daemon.optimizer.proposals import remembered
from daemon.optimizer.replies import Pattern


@dataclass(frozen=True)
class EarlierStep:
    """One step of the epoch as later reflections see it."""

    step: int
    outcome: str
    before: float | None
    after: float | None
    rejected: tuple[dict[str, Any], ...]
    """The edits of a rejected candidate, tried together: op, target, content."""
    patterns: tuple[dict[str, Any], ...]
    tasks: int = 0
    """How many held-out tasks both figures are over: fewer than all where the rest could not change the ruling."""


@dataclass(frozen=True)
class StepBuffer:
    """The steps of one epoch so far, for reflections to read (SkillOpt, rejected-edit buffer)."""

    epoch: int = 0
    entries: tuple[EarlierStep, ...] = ()
    standing: tuple[EarlierStep, ...] = ()
    """What people took back: it outlives every epoch."""

    @property
    def told(self) -> tuple[EarlierStep, ...]:
        """What reflections read."""
        return (*self.standing, *self.entries)

    def at(self, epoch: int) -> StepBuffer:
        """The buffer for a step of `epoch`: a new epoch starts empty, but for what people took back."""
        return self if epoch == self.epoch else StepBuffer(epoch, standing=self.standing)

    def after(self, decision: StepDecision) -> StepBuffer:
        """With one more step."""
        buffer = self.at(decision.epoch)
        tried = decision.applied if decision.outcome == "rejected" else ()
        if not tried and not decision.patterns:
            return buffer
        verdict = decision.verdict
        entry = EarlierStep(
            step=decision.step,
            outcome=decision.outcome.replace("_", " "),
            before=verdict.before if verdict and tried else None,
            after=verdict.after if verdict and tried else None,
            rejected=tuple(remembered(edit) for edit in tried),
            patterns=tuple(_row(pattern) for pattern in decision.patterns),
            tasks=verdict.n if verdict and tried else 0,
        )
        return StepBuffer(decision.epoch, (*buffer.entries, entry), buffer.standing)


def _row(pattern: Pattern) -> dict[str, Any]:
    return pattern.model_dump(mode="json")
