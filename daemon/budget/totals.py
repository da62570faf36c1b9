"""What rows of the journal come to: attempts, tokens and money.

Money is a sum only where every part of it is known; what a model with a known price used before its price was known
is priced now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from daemon.journal.records import Span, Spent
from sandboxes.gateway.policy import Price, Usage, priced

Payer = Literal["target", "optimizer"]


@dataclass(frozen=True)
class PricedModel:
    """Who is paid now, and at what price."""

    model: str
    price: Price | None
    """None: unknown."""


Models = Mapping[Payer, PricedModel]
"""The models of this process; a payer that is missing is not used by it."""


@dataclass(frozen=True)
class Totals:
    """What was spent."""

    attempts: int = 0
    """Attempts begun, those that were cut off among them."""
    tokens: int = 0
    """Of target and optimizer, input and output."""
    usd: float | None = 0.0
    """None: not known."""

    def plus(self, attempts: int, usage: Usage) -> Totals:
        """With this much more."""
        usd = None if self.usd is None or usage.usd is None else self.usd + usage.usd
        return Totals(self.attempts + attempts, self.tokens + usage.tokens, usd)


def total(rows: Iterable[Spent], models: Models) -> Totals:
    """The sum of journal rows; an attempt that was cut off counts, what it cost is not known to anyone."""
    found = Totals()
    for row in rows:
        found = found.plus(1 if row.payer == "target" else 0, usage_at(row, models))
    return found


def usage_at(row: Spent, models: Models) -> Usage:
    """What a row used, priced by today's price where it had none."""
    if row.usage is None:
        return Usage()
    usage = Usage(**row.usage)
    model = models.get(row.payer)
    if usage.usd is None and model is not None and row.model in ("", model.model):
        return priced(usage, model.price)
    return usage


def seconds(spans: Iterable[Span], since: float = 0.0) -> float:
    """How long somebody worked, counted from a Unix time."""
    return sum(max(0.0, span.seen - max(span.started, since)) for span in spans)
