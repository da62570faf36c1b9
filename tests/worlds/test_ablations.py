"""Each part of the method earns its place in worlds made of what it is for; `make bench` weighs all in one world, too.

The seeds are the first ones. A part is switched off by its configuration key alone: the world and the simulated model
never look at it.
"""

from __future__ import annotations

import pytest

from tests.worlds.ablation import ABLATIONS, difference, figures
from tests.worlds.made_for import MADE_FOR


@pytest.mark.parametrize("name", MADE_FOR)
def test_without_it_the_skill_that_ships_is_worth_less(name: str) -> None:
    case = MADE_FOR[name]
    train = {"gate": "strict", **case.train}
    with_it = [figures(seed, train, case.shape) for seed in range(case.worlds)]
    without = [figures(seed, {**train, **ABLATIONS[name]}, case.shape) for seed in range(case.worlds)]
    lost = difference(with_it, without)
    assert lost.mean > 0.05, lost
    assert lost.mean > lost.error, lost
