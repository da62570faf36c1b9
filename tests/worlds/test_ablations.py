"""Each part of the method earns its place in worlds made of what it is for; `make bench` weighs all in one world, too.

The seeds are the first ones. A part is switched off by its configuration key alone: the world and the simulated model
never look at it.
"""

from __future__ import annotations

import pytest

from tests.worlds.ablation import ABLATIONS, difference, figures
from tests.worlds.made_for import MADE_FOR

MOST = 12
"""Worlds of each; `make bench` and `make test-long` take all."""
ALL = [pytest.param(name, case.worlds, marks=pytest.mark.long) for name, case in MADE_FOR.items() if case.worlds > MOST]
EVERY_DAY = [(name, min(case.worlds, MOST)) for name, case in MADE_FOR.items()]


@pytest.mark.parametrize(("name", "worlds"), [*EVERY_DAY, *ALL])
def test_without_it_the_skill_that_ships_is_worth_less(name: str, worlds: int) -> None:
    case = MADE_FOR[name]
    train = {"gate": "strict", **case.train}
    with_it = [figures(seed, train, case.shape) for seed in range(worlds)]
    without = [figures(seed, {**train, **ABLATIONS[name]}, case.shape) for seed in range(worlds)]
    lost = difference(with_it, without)
    assert lost.mean > 0.05, lost
    assert lost.mean > lost.error, lost
