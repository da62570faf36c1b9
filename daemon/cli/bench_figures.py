"""What a cell of a benchmark's table says: the mean with its standard error, and what is missing from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from daemon.rollouts.result import TaskResult


@dataclass(frozen=True)
class Figures:
    """Of the tasks that have a valid result; invalid ones are in no mean."""

    score: float | None
    """0..1 by the benchmark's metric; None where nothing is valid."""
    error: float | None
    """Standard error of `score` over tasks; None for fewer than two."""
    hard: float | None
    soft: float | None
    valid: int
    of: int
    invalid: dict[str, int]
    """By outcome, most first."""


def figures(results: Sequence[TaskResult], metric: Literal["hard", "soft"]) -> Figures:
    """The figures of one pass; every task counts the same."""
    valid = [result for result in results if result.valid]
    hard = [float(result.solved) for result in valid]
    soft = [result.score for result in valid]
    values = hard if metric == "hard" else soft
    outcomes = Counter(str(result.record.outcome) for result in results if not result.valid)
    return Figures(
        score=_mean(values),
        error=standard_error(values),
        hard=_mean(hard),
        soft=_mean(soft),
        valid=len(valid),
        of=len(results),
        invalid=dict(sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))),
    )


def standard_error(values: Sequence[float]) -> float | None:
    """Of the mean: the sample's standard deviation over the root of its size; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
