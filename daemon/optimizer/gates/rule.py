"""What a result counts, and which results may be compared: what all gates share.

Pure functions. Tasks invalid under either skill are left out in pairs; too little valid coverage decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from daemon.rollouts.result import TaskResult

Metric = Literal["hard", "soft", "mixed"]

TIE = 1e-9
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
        return math.ceil(self.min_valid * of - TIE)

    def value(self, result: TaskResult) -> float:
        """What a valid result counts, 0..1."""
        hard = 1.0 if result.solved else 0.0
        if self.metric == "hard":
            return hard
        if self.metric == "soft":
            return result.score
        return (1 - self.mixed_weight) * hard + self.mixed_weight * result.score


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
