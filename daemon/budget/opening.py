"""From honed.toml to a purse, and what must be said about prices before anything is paid."""

from __future__ import annotations

import math

from daemon.budget.capped import CappedPurse, MostOfOne
from daemon.budget.purse import OpenPurse, Purse
from daemon.budget.totals import Models
from daemon.config import ConfigError, TargetSection
from daemon.config_train import BudgetSection, CapSection
from daemon.journal.journal import Journal


def open_purse(budget: BudgetSection, target: TargetSection, models: Models, journal: Journal) -> Purse:
    """The purse of a process; raises `ConfigError` if money is capped and a price is not known."""
    refuse_unknown_prices(budget, models)
    if budget == BudgetSection():
        return OpenPurse(journal)
    bounded = target.harness != "chat"
    most = MostOfOne(
        target.max_tokens if bounded else math.inf,
        target.max_usd if bounded and target.max_usd is not None else math.inf,
    )
    return CappedPurse(budget, journal, models, {"target": most})


def day_alone(budget: BudgetSection) -> BudgetSection:
    """The caps of a verb that trains nothing."""
    return BudgetSection(day=budget.day)


def refuse_unknown_prices(budget: BudgetSection, models: Models) -> None:
    """Raise `ConfigError` if money is capped and a price is not known: it would count as nothing."""
    capped = [name for name in ("step", "run", "day") if _caps(budget, name).usd is not None]
    unknown = [payer for payer, model in models.items() if model.price is None]
    if capped and unknown:
        payer = unknown[0]
        msg = (
            f"[budget.{capped[0]}] usd needs a known price, and that of {models[payer].model} is not known: set "
            f"[{payer}] price = {{ input = …, output = … }} (US dollars for a million tokens), or cap tokens instead"
        )
        raise ConfigError(msg)


def unknown_prices(models: Models) -> tuple[str, ...]:
    """One sentence for each payer whose price is not known, for the start of a run."""
    return tuple(
        f"the price of {model.model} is unknown: what it costs is not counted (set [{payer}] price)"
        for payer, model in models.items()
        if model.price is None
    )


def _caps(budget: BudgetSection, name: str) -> CapSection:
    caps: CapSection = getattr(budget, name)
    return caps
