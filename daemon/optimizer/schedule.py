"""The edit budget of each step: the textual learning rate and its decay (SkillOpt, schedules).

Pure functions of (step, total), so a resumed run follows the same schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

Schedule = Literal["constant", "linear", "cosine", "autonomous", "unbounded"]


def _constant(most: int, least: int, t: float) -> float:
    return most


def _linear(most: int, least: int, t: float) -> float:
    return most + (least - most) * t


def _cosine(most: int, least: int, t: float) -> float:
    return least + 0.5 * (most - least) * (1 + math.cos(math.pi * t))


_SHAPES: dict[Schedule, Callable[[int, int, float], float]] = {
    "constant": _constant,
    "linear": _linear,
    "cosine": _cosine,
    "autonomous": _constant,
}


def edit_budget(schedule: Schedule, step: int, total: int, *, most: int, least: int) -> int | None:
    """How many edits step `step` (from 1) of `total` may make; never under `least`, `most` for a single step.

    None where there is no budget (`unbounded`). With `autonomous` it is the most that the optimizer may pick
    (`updates.learning_rate.pick`).
    """
    if schedule == "unbounded":
        return None
    if total <= 1:
        return max(most, least)
    t = min(step, total) / total
    return max(least, round(_SHAPES[schedule](most, least, t)))
