"""From honed.toml to a purse; a price that is not known is said, and no money cap runs without it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from daemon.budget.capped import CappedPurse, MostOfOne
from daemon.budget.opening import day_alone, open_purse, refuse_unknown_prices, unknown_prices
from daemon.budget.purse import OpenPurse
from daemon.budget.totals import Models, Payer, PricedModel
from daemon.config import ConfigError, TargetSection
from daemon.config_train import BudgetSection
from daemon.journal.memory import MemoryJournal
from tests.support.budget import PRICE

KNOWN: Models = {"target": PricedModel("m", PRICE), "optimizer": PricedModel("o", PRICE)}


def budget(**scopes: dict[str, Any]) -> BudgetSection:
    return BudgetSection.model_validate(scopes)


def target(**keys: Any) -> TargetSection:
    return TargetSection.model_validate({"harness": "codex", "model": "m", **keys})


def test_without_caps_the_purse_is_open() -> None:
    assert isinstance(open_purse(budget(), target(), {}, MemoryJournal()), OpenPurse)


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({}, MostOfOne(2_000_000, math.inf)),
        ({"max_tokens": 5, "max_usd": 0.5}, MostOfOne(5, 0.5)),
        ({"harness": "chat", "max_usd": 0.5}, MostOfOne()),
    ],
)
def test_what_one_attempt_may_use_is_the_doors_cap(keys: dict[str, Any], most: MostOfOne) -> None:
    purse = open_purse(budget(run={"tokens": 9}), target(**keys), KNOWN, MemoryJournal())
    assert isinstance(purse, CappedPurse)
    assert purse.most == {"target": most}


@pytest.mark.parametrize("scope", ["step", "run", "day"])
@pytest.mark.parametrize("payer", ["target", "optimizer"])
def test_a_money_cap_needs_both_prices(scope: str, payer: Payer) -> None:
    models = dict(KNOWN)
    models[payer] = PricedModel("secret-model", None)
    with pytest.raises(ConfigError) as error:
        open_purse(budget(**{scope: {"usd": 1.0}}), target(), models, MemoryJournal())
    assert f"[budget.{scope}] usd needs a known price, and that of secret-model is not known" in str(error.value)
    assert f"set [{payer}] price = {{ input" in str(error.value)


def test_an_unknown_price_is_no_hindrance_without_a_money_cap() -> None:
    models: Models = {"target": PricedModel("m", None)}
    refuse_unknown_prices(budget(run={"tokens": 5}, day={"minutes": 1}), models)
    refuse_unknown_prices(budget(run={"usd": 5}), {"target": PricedModel("m", PRICE)})


def test_an_unknown_price_is_said_once_for_each_payer() -> None:
    models: Models = {"target": PricedModel("a", None), "optimizer": PricedModel("b", None)}
    assert unknown_prices(models) == (
        "the price of a is unknown: what it costs is not counted (set [target] price)",
        "the price of b is unknown: what it costs is not counted (set [optimizer] price)",
    )
    assert unknown_prices(KNOWN) == ()


def test_who_trains_nothing_heeds_the_day_alone() -> None:
    assert day_alone(budget(run={"usd": 1}, day={"usd": 2}, step={"usd": 3})) == budget(day={"usd": 2})
