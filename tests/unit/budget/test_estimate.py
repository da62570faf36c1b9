"""An estimate says what is known, and says that the rest is not."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.budget.averages import OneTakes, averages
from daemon.budget.estimate import Estimate
from daemon.budget.plan import plan_run
from daemon.budget.totals import PricedModel
from daemon.config_train import BudgetSection, TrainSection
from tests.support.budget import PRICE, Till, used, without_price

KNOBS = TrainSection(epochs=1, batch=10, gate="strict", slow_update="off", meta_skill=False)
PLAN = plan_run(KNOBS, {"train": 20, "selection": 10, "test": 10})
"""2 steps of at most 20 attempts; 40 to 70 attempts in all."""
ATTEMPT, REQUEST = OneTakes(7, 1_000.0, 0.01, 60.0), OneTakes(3, 10_000.0, 0.1, 0.0)


def estimate(
    target: OneTakes | None = ATTEMPT, optimizer: OneTakes | None = REQUEST, **budget: dict[str, Any]
) -> Estimate:
    return Estimate(PLAN, target, optimizer, 4, BudgetSection.model_validate(budget))


def test_the_least_and_the_most_of_everything() -> None:
    found = estimate()
    assert (PLAN.all_attempts.least, PLAN.all_attempts.most) == (40, 70)
    assert (found.least.tokens, found.least.wall_s) == (40_000, 600)
    assert found.least.usd == pytest.approx(0.4)
    requests = PLAN.all_requests.most
    assert found.most.tokens == 70_000 + requests * 10_000
    assert found.most.usd == pytest.approx(0.7 + requests * 0.1)
    assert found.line().startswith("estimate: 2 steps, 40 to 70 attempts, 40 k to ")
    assert found.line().endswith("$0.40 to $2.30, 10 min to 18 min with 4 workers (by the average of 7 attempts)")


def test_without_averages_there_are_attempts_alone() -> None:
    found = estimate(None, None)
    assert found.most.tokens is None
    assert found.line() == (
        "estimate: 2 steps, 40 to 70 attempts; what they take is not known yet: "
        "the journal has no attempt of this harness and model"
    )


def test_an_unknown_price_is_no_money_at_all() -> None:
    found = estimate(OneTakes(7, 1_000.0, None, 60.0))
    assert found.most.tokens is not None
    assert found.most.usd is None
    assert "price unknown" in found.line()
    assert "$" not in found.line()


@pytest.mark.parametrize(
    ("budget", "steps", "words"),
    [
        ({"run": {"attempts": 200}}, 2, "[budget.run] attempts = 200 buys all 2 steps"),
        ({"run": {"attempts": 49}}, 1, "[budget.run] attempts = 49 buys at least 1 of 2 steps"),
        ({"run": {"attempts": 12}}, 0, "[budget.run] attempts = 12 buys at least 0 of 2 steps"),
        ({"run": {"tokens": 110_000}}, 1, "[budget.run] tokens = 110,000 buys at least 1 of 2 steps"),
        ({"run": {"minutes": 7.5}}, 1, "[budget.run] minutes = 7.5 buys at least 1 of 2 steps"),
        ({"day": {"usd": 100}}, 2, "[budget.day] usd = 100 buys all 2 steps"),
        ({"step": {"attempts": 20}}, 1, "[budget.step] attempts = 20: a whole step fits"),
        ({"step": {"attempts": 19}}, 0, "[budget.step] attempts = 19: a step that goes the whole way does not fit"),
    ],
)
def test_a_cap_is_told_in_steps(budget: dict[str, Any], steps: int, words: str) -> None:
    [row] = estimate(**budget).buys
    assert row.steps == steps
    assert row.words(PLAN.steps) == words


def test_without_averages_attempts_are_told_in_steps_and_the_rest_is_not_known() -> None:
    attempts, tokens = estimate(None, None, run={"attempts": 30, "tokens": 5_000}).buys
    assert attempts.steps == 1
    assert tokens.steps is None
    assert tokens.words(2) == "[budget.run] tokens = 5,000: how many steps it buys is not known yet"


async def test_averages_are_of_this_harness_and_model_and_of_scored_attempts() -> None:
    till = Till(models={"target": PricedModel("m", PRICE), "optimizer": PricedModel("o", None)})
    await till.start()
    for tokens in (100, 300):
        await till.attempt(used(tokens, 0.5), changes={"wall_s": 4.0})
    await till.attempt(used(9_000), changes={"score": None, "hard": None, "outcome": "rate_limit"})
    await till.reply(used(50, None))
    await till.reply(used(70, 0.1), model="another")
    target, optimizer = await averages(till.journal, "chat", till.models)
    assert target == OneTakes(2, 200.0, 0.5, 4.0)
    assert optimizer == OneTakes(1, 50.0, None, 0.0)
    assert await averages(till.journal, "codex", till.models) == (None, optimizer)
    other = {"target": PricedModel("other", PRICE)}
    assert await averages(till.journal, "chat", other) == (None, None)  # type: ignore[arg-type]


async def test_a_price_that_is_known_by_now_prices_older_attempts() -> None:
    till = Till()
    await till.start()
    await till.attempt(without_price(used(2_000_000)))
    target, _ = await averages(till.journal, "chat", till.models)
    assert target is not None
    assert target.usd == 2.0
