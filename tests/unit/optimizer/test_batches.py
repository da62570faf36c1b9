"""Epoch shuffles, batches, accumulation and minibatches."""

from __future__ import annotations

import math

from daemon.optimizer.batches import minibatches, plan_steps
from tests.support.optimizer import make_result

IDS = [f"t{i:03}" for i in range(10)]


def test_each_epoch_is_one_pass_in_an_order_of_its_own() -> None:
    plans = plan_steps(IDS, epochs=3, batch=4, accumulation=1, seed=42)
    assert [plan.step for plan in plans] == list(range(1, 10))
    orders = []
    for epoch in (1, 2, 3):
        mine = [plan for plan in plans if plan.epoch == epoch]
        assert [len(plan.batches[0]) for plan in mine] == [4, 4, 2]
        order = [i for plan in mine for batch in plan.batches for i in batch]
        assert sorted(order) == IDS
        orders.append(order)
    assert len({tuple(order) for order in orders}) == 3


def test_accumulation_puts_several_batches_into_one_step() -> None:
    plans = plan_steps(IDS, epochs=1, batch=2, accumulation=3, seed=42)
    assert [[len(batch) for batch in plan.batches] for plan in plans] == [[2, 2, 2], [2, 2]]


def test_an_epoch_has_as_many_steps_as_the_method_says() -> None:
    for n, batch, accumulation in [(10, 4, 1), (10, 2, 3), (400, 40, 1), (1, 40, 2), (9, 3, 3)]:
        ids = [f"t{i}" for i in range(n)]
        plans = plan_steps(ids, epochs=4, batch=batch, accumulation=accumulation, seed=1)
        assert len(plans) == 4 * math.ceil(n / (batch * accumulation))


def test_the_plan_depends_on_the_seed_and_not_on_the_order_given() -> None:
    first = plan_steps(IDS, epochs=2, batch=4, accumulation=1, seed=1)
    assert first == plan_steps(IDS[::-1], epochs=2, batch=4, accumulation=1, seed=1)
    assert first != plan_steps(IDS, epochs=2, batch=4, accumulation=1, seed=2)


def test_failures_and_successes_are_cut_apart_and_invalid_ones_left_out() -> None:
    results = [make_result(f"f{i}", 0.5, hard=False) for i in range(5)]
    results += [make_result(f"s{i}", 1.0) for i in range(3)] + [make_result("x", None)]
    cut = minibatches(results, size=2, seed=42, step=1, ordinal=0)
    assert [(minibatch.solved, len(minibatch.results)) for minibatch in cut] == [
        (False, 2),
        (False, 2),
        (False, 1),
        (True, 2),
        (True, 1),
    ]
    assert {i for m in cut if not m.solved for i in m.ids} == {f"f{i}" for i in range(5)}
    assert "x" not in {i for m in cut for i in m.ids}


def test_minibatches_do_not_depend_on_the_order_of_results_but_on_their_place() -> None:
    results = [make_result(f"f{i}", 0.0) for i in range(9)]
    first = minibatches(results, size=4, seed=42, step=1, ordinal=0)
    assert [m.ids for m in first] == [m.ids for m in minibatches(results[::-1], size=4, seed=42, step=1, ordinal=0)]
    assert [m.ids for m in first] != [m.ids for m in minibatches(results, size=4, seed=42, step=2, ordinal=0)]
