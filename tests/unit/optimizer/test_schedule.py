"""The edit budget's schedules, in the method's own numbers."""

from __future__ import annotations

from collections import Counter

import pytest

from daemon.optimizer.schedule import Schedule, edit_budget


def budgets(schedule: Schedule, total: int, most: int = 4, least: int = 2) -> list[int]:
    return [edit_budget(schedule, step, total, most=most, least=least) for step in range(1, total + 1)]


def test_cosine_over_forty_steps_gives_13_fours_13_threes_14_twos() -> None:
    found = budgets("cosine", 40)
    assert Counter(found) == {4: 13, 3: 13, 2: 14}
    assert found == sorted(found, reverse=True)


def test_linear_over_forty_steps_comes_down_evenly() -> None:
    found = budgets("linear", 40)
    assert (found[0], found[19], found[-1]) == (4, 3, 2)
    assert Counter(found) == {4: 10, 3: 19, 2: 11}


def test_constant_stays() -> None:
    assert set(budgets("constant", 40)) == {4}


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_a_single_step_has_the_whole_budget_and_none_goes_below_the_least(schedule: Schedule) -> None:
    assert budgets(schedule, 1) == [4]
    assert min(budgets(schedule, 7, most=2, least=3)) == 3


def test_a_resumed_step_has_the_budget_it_would_have_had() -> None:
    assert edit_budget("cosine", 20, 40, most=4, least=2) == budgets("cosine", 40)[19]
