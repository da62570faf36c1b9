"""What one attempt and one optimizer request have taken so far, from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.budget.totals import Models, usage_at
from daemon.journal.journal import Journal
from daemon.journal.records import Spent

NEWEST = 500
"""Rows of each kind that are looked at: what was long ago says little."""


@dataclass(frozen=True)
class OneTakes:
    """The mean over `n` of a kind."""

    n: int
    tokens: float
    usd: float | None
    """None: the price is not known."""
    wall_s: float


async def averages(journal: Journal, harness: str, models: Models) -> tuple[OneTakes | None, OneTakes | None]:
    """For the target (with this harness and model, scored attempts alone) and for the optimizer; None without any."""
    rows = await journal.spent(newest=NEWEST)
    target, optimizer = models.get("target"), models.get("optimizer")
    attempts = [
        row
        for row in rows
        if row.payer == "target" and row.scored and target and (row.harness, row.model) == (harness, target.model)
    ]
    replies = [row for row in rows if row.payer == "optimizer" and optimizer and row.model == optimizer.model]
    return _mean(attempts, models), _mean(replies, models)


def _mean(rows: Sequence[Spent], models: Models) -> OneTakes | None:
    usages = [usage_at(row, models) for row in rows]
    if not usages:
        return None
    money = [usage.usd for usage in usages if usage.usd is not None]
    return OneTakes(
        n=len(rows),
        tokens=sum(usage.tokens for usage in usages) / len(rows),
        usd=sum(money) / len(rows) if len(money) == len(rows) else None,
        wall_s=sum(row.wall_s for row in rows) / len(rows),
    )
