"""The strict gate: a candidate is kept only if it is better than the current skill on the selection split.

A pure function. Tasks invalid under either skill are left out in pairs; a tie is a rejection; too little valid
coverage decides nothing. Other rules go into files of their own with the same shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from daemon.rollouts.result import TaskResult

Metric = Literal["hard", "soft", "mixed"]
Ruling = Literal["accepted", "rejected", "indecisive"]

_TIE = 1e-9
"""Differences below this are rounding."""


@dataclass(frozen=True)
class GateRule:
    """How to judge."""

    metric: Metric = "hard"
    mixed_weight: float = 0.5
    """Share of the soft score in `mixed`."""
    min_valid: float = 0.8
    """Smallest share of valid pairs to decide on."""

    def enough(self, n: int, of: int) -> bool:
        """Whether `n` valid results (or pairs) of `of` tasks may be decided on; none never may."""
        return n > 0 and n >= self.least(of)

    def least(self, of: int) -> int:
        """The fewest valid results of `of` tasks to decide on."""
        return math.ceil(self.min_valid * of - _TIE)

    def value(self, result: TaskResult) -> float:
        """What a valid result counts, 0..1."""
        hard = 1.0 if result.solved else 0.0
        if self.metric == "hard":
            return hard
        if self.metric == "soft":
            return result.score
        return (1 - self.mixed_weight) * hard + self.mixed_weight * result.score


@dataclass(frozen=True)
class Verdict:
    """What the gate found."""

    ruling: Ruling
    before: float | None
    """Mean over the valid pairs; None without any."""
    after: float | None
    delta: float | None
    n: int
    """Valid pairs."""
    of: int
    """Tasks asked for."""
    fixed: tuple[str, ...]
    """Task ids failed before and solved now."""
    broken: tuple[str, ...]
    """Task ids solved before and failed now."""
    rule: str
    """The rule in words, with its figures."""

    @property
    def valid_share(self) -> float:
        """Valid pairs as a share of the tasks, 0..1."""
        return self.n / self.of if self.of else 0.0


def mean(results: Sequence[TaskResult], rule: GateRule) -> float | None:
    """The weighted mean over the valid results; None where there is none."""
    valid = [result for result in results if result.valid]
    weight = math.fsum(result.task.weight for result in valid)
    if not valid or weight <= 0:
        return None
    return math.fsum(result.task.weight * rule.value(result) for result in valid) / weight


Pair = tuple[TaskResult, TaskResult]
"""One task's results under two skills."""


def valid_pairs(first: Sequence[TaskResult], second: Sequence[TaskResult]) -> list[Pair]:
    """The tasks with a score under both skills, by id: one that is invalid under either is left out of both."""
    other = {result.task_id: result for result in second if result.valid}
    ours = sorted((result for result in first if result.valid), key=lambda result: result.task_id)
    return [(result, other[result.task_id]) for result in ours if result.task_id in other]


def strict(baseline: Sequence[TaskResult], candidate: Sequence[TaskResult], rule: GateRule) -> Verdict:
    """Judge a candidate against the current skill over the tasks that both were asked."""
    asked = {result.task_id for result in (*baseline, *candidate)}
    pairs = valid_pairs(baseline, candidate)
    before, after = mean([a for a, _ in pairs], rule), mean([b for _, b in pairs], rule)
    fixed = tuple(b.task_id for a, b in pairs if b.solved and not a.solved)
    broken = tuple(b.task_id for a, b in pairs if a.solved and not b.solved)
    ruling, words = _rule(before, after, len(pairs), len(asked), rule)
    delta = None if before is None or after is None else after - before
    return Verdict(ruling, before, after, delta, len(pairs), len(asked), fixed, broken, words)


def _rule(before: float | None, after: float | None, n: int, of: int, rule: GateRule) -> tuple[Ruling, str]:
    if before is None or after is None or not rule.enough(n, of):
        need = max(1, rule.least(of))
        return "indecisive", f"only {n} of {of} tasks are valid under both skills, {need} are needed: nothing decided"
    words = f"{rule.metric} {before:.3f} -> {after:.3f} on {n} of {of} tasks"
    if after - before > _TIE:
        return "accepted", f"{words}: strictly better"
    if abs(after - before) <= _TIE:
        return "rejected", f"{words}: a tie is not better"
    return "rejected", f"{words}: worse"
