"""Each part of the method earns its place in worlds made of what it is for; `make bench` weighs all in one world.

The seeds are the first ones. A part is switched off by its configuration key alone: the world and the simulated model
never look at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.worlds.ablation import ABLATIONS, difference, figures
from tests.worlds.make import Shape

SIZES: Mapping[str, Any] = {"sizes": {"train": 24, "selection": 16, "test": 40}, "areas": 2}


@dataclass(frozen=True)
class Case:
    """Worlds in which one part matters."""

    shape: Shape
    train: Mapping[str, Any] = field(default_factory=lambda: {"epochs": 3, "batch": 4, "minibatch": 2})
    worlds: int = 4


CASES: Mapping[str, Case] = {
    # Much that does harm.
    "no_gate": Case(Shape(**SIZES, answers={"helpful": 2, "useless": 1, "harmful": 3})),
    # Few good answers among many bad ones, and a long epoch in which to come back to them.
    "no_buffer": Case(
        Shape(
            {"train": 24, "selection": 30, "test": 40},
            areas=1,
            plain_causes=3,
            deep_causes=0,
            answers={"helpful": 1, "useless": 1, "harmful": 5},
        ),
        {"epochs": 1, "batch": 1, "minibatch": 1, "edit_budget": 2, "min_edit_budget": 1},
        worlds=10,
    ),
    # Many causes at once, so that much is proposed in one step.
    "no_budget": Case(
        Shape(**SIZES, answers={"helpful": 2, "useless": 2, "harmful": 3}, plain_causes=4, deep_causes=0)
    ),
    # Causes that only a comparison over epochs shows.
    "no_slow_update": Case(Shape(**SIZES, answers={"helpful": 3, "useless": 1, "harmful": 1}, deep_share=0.9)),
}


@pytest.mark.parametrize("name", CASES)
def test_without_it_the_skill_that_ships_is_worth_less(name: str) -> None:
    case = CASES[name]
    train = {"gate": "strict", **case.train}
    with_it = [figures(seed, train, case.shape) for seed in range(case.worlds)]
    without = [figures(seed, {**train, **ABLATIONS[name]}, case.shape) for seed in range(case.worlds)]
    lost = difference(with_it, without)
    assert lost.mean > 0.05, lost
    assert lost.mean > lost.error, lost
