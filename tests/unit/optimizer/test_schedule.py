"""The edit budget's schedules, in the method's own numbers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.optimizer.schedule import Schedule, edit_budget


def budgets(schedule: Schedule, total: int, most: int = 4, least: int = 2) -> list[int]:
    found = [edit_budget(schedule, step, total, most=most, least=least) for step in range(1, total + 1)]
    return [budget for budget in found if budget is not None]


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


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "autonomous"])
def test_a_single_step_has_the_whole_budget_and_none_goes_below_the_least(schedule: Schedule) -> None:
    assert budgets(schedule, 1) == [4]
    assert min(budgets(schedule, 7, most=2, least=3)) == 3


def test_a_resumed_step_has_the_budget_it_would_have_had() -> None:
    assert edit_budget("cosine", 20, 40, most=4, least=2) == budgets("cosine", 40)[19]


def test_where_the_optimizer_picks_the_most_is_what_it_may_pick() -> None:
    assert set(budgets("autonomous", 40)) == {4}


@pytest.mark.parametrize("total", [1, 2, 40])
def test_unbounded_knows_no_budget(total: int) -> None:
    assert [edit_budget("unbounded", step, total, most=4, least=2) for step in range(1, total + 1)] == [None] * total


bounded = st.sampled_from(["constant", "linear", "cosine", "autonomous"])


@given(bounded, st.integers(1, 200), st.integers(1, 16), st.integers(1, 16))
def test_every_schedule_comes_down_from_most_to_least_and_stays_within(
    schedule: Schedule, total: int, one: int, other: int
) -> None:
    least, most = sorted((one, other))
    found = budgets(schedule, total, most, least)
    assert len(found) == total
    assert found == sorted(found, reverse=True)
    assert least <= min(found) <= max(found) <= most
    if schedule in ("linear", "cosine") and total > 1:
        assert found[-1] == least


@given(bounded, st.integers(2, 60), st.data())
def test_a_run_resumed_at_any_step_follows_the_same_schedule(
    schedule: Schedule, total: int, data: st.DataObject
) -> None:
    killed = data.draw(st.integers(1, total))
    before = [edit_budget(schedule, step, total, most=5, least=2) for step in range(1, killed + 1)]
    after = [edit_budget(schedule, step, total, most=5, least=2) for step in range(killed + 1, total + 1)]
    assert before + after == budgets(schedule, total, 5, 2)
