"""The rejected-edit buffer: what this epoch's steps tried, and what it cost, as a whole and by group of tasks.

A rejected set says little of each edit in it; what became of the tasks that an edit is for says more. A fold over
journaled decisions, so a resumed run remembers exactly what an undisturbed one does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.optimizer.decision import StepDecision
from daemon.optimizer.gates.verdict import TaskRow
from daemon.optimizer.proposals import remembered
from daemon.optimizer.replies import Pattern

LEAST_TASKS = 3
"""Of a group whose figures are told: those of fewer would be a single task's."""


@dataclass(frozen=True)
class GroupFigures:
    """What a rejected candidate did to one group of held-out tasks; scores are means in 0..1."""

    name: str
    tasks: int
    before: float
    after: float


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
    groups: tuple[GroupFigures, ...] = ()
    """Of a rejected candidate, by name."""


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

    @property
    def without_groups(self) -> StepBuffer:
        """With figures of whole candidates alone, as published."""
        return replace(self, entries=tuple(replace(entry, groups=()) for entry in self.entries))

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
            groups=by_group(verdict.rows) if verdict and tried else (),
            tasks=verdict.n if verdict and tried else 0,
        )
        return StepBuffer(decision.epoch, (*buffer.entries, entry), buffer.standing)


def by_group(rows: Sequence[TaskRow]) -> tuple[GroupFigures, ...]:
    """The figures of every group that has enough tasks with a score under both skills, by name."""
    pairs: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row.group and row.weight > 0 and row.before is not None and row.after is not None:
            pairs.setdefault(row.group, []).append((row.weight, row.before, row.after))
    return tuple(
        GroupFigures(name, len(found), _mean((w, a) for w, a, _ in found), _mean((w, b) for w, _, b in found))
        for name, found in sorted(pairs.items())
        if len(found) >= LEAST_TASKS
    )


def _mean(weighed: Iterable[tuple[float, float]]) -> float:
    values = list(weighed)
    return math.fsum(weight * value for weight, value in values) / math.fsum(weight for weight, _ in values)


def _row(pattern: Pattern) -> dict[str, Any]:
    return pattern.model_dump(mode="json")
