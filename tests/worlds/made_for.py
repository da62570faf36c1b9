"""For each part of the method, worlds made of what it is for: there its worth shows in few runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.worlds.make import Shape

_SIZES: Mapping[str, Any] = {"sizes": {"train": 24, "selection": 16, "test": 40}, "areas": 2}


@dataclass(frozen=True)
class Made:
    """Worlds in which one part matters."""

    shape: Shape
    train: Mapping[str, Any] = field(default_factory=lambda: {"epochs": 3, "batch": 4, "minibatch": 2})
    worlds: int = 4
    """For a first look."""


MADE_FOR: Mapping[str, Made] = {
    # Much that does harm.
    "no_gate": Made(Shape(**_SIZES, answers={"helpful": 2, "useless": 1, "harmful": 3})),
    # One good answer among many that plainly do harm, a long epoch in which to come back to them, and edits of several
    # areas in a set, which only the figures by group tell apart.
    "no_buffer": Made(
        Shape(
            {"train": 24, "selection": 36, "test": 40},
            areas=3,
            plain_causes=1,
            deep_causes=0,
            answers={"helpful": 1, "useless": 0, "harmful": 6},
            harm=(0.2, 0.4),
        ),
        {"epochs": 1, "batch": 2, "minibatch": 2, "edit_budget": 2, "min_edit_budget": 1},
        worlds=30,
    ),
    # Many causes at once, so that much is proposed in one step.
    "no_budget": Made(
        Shape(**_SIZES, answers={"helpful": 2, "useless": 2, "harmful": 3}, plain_causes=4, deep_causes=0)
    ),
    # Causes that only a comparison over epochs shows.
    "no_slow_update": Made(Shape(**_SIZES, answers={"helpful": 3, "useless": 1, "harmful": 1}, deep_share=0.9)),
}
