"""A purse over a journal in memory, with a clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.budget.capped import CappedPurse, MostOfOne
from daemon.budget.totals import Models, Payer, PricedModel
from daemon.config_train import BudgetSection
from daemon.journal.journal import Journal
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import AttemptKey, AttemptRecord, RunRecord
from sandboxes.gateway.policy import Price, Usage
from tests.support.journal import a_record

NOON = 20_000 * 86_400 + 43_200.0
PRICE = Price(1.0, 1.0, 1.0)
"""A dollar for a million tokens of any kind."""


@dataclass
class Clock:
    """Unix time."""

    now: float = NOON

    def __call__(self) -> float:
        return self.now


def used(tokens: int, usd: float | None = 0.0) -> Usage:
    """One request of so many tokens."""
    return Usage(1, tokens, 0, 0, usd)


@dataclass
class Till:
    """A journal, and purses of one process after another over it."""

    clock: Clock = field(default_factory=Clock)
    models: Models = field(default_factory=lambda: {"target": PricedModel("m", PRICE)})
    most: dict[Payer, MostOfOne] = field(default_factory=dict)
    journal: Journal = field(init=False)
    purse: CappedPurse = field(init=False)
    number: int = 0

    def __post_init__(self) -> None:
        self.journal = MemoryJournal(self.clock)

    async def start(self, run_id: str = "r-1", **scopes: dict[str, Any]) -> CappedPurse:
        """A new process with these caps goes on with a run."""
        if run_id not in [run.run_id for run in await self.journal.find_runs()]:
            await self.journal.open_run(RunRecord(run_id, "f", "skills/demo", "c" * 40, "open", self.clock()))
        budget = BudgetSection.model_validate(scopes)
        self.purse = CappedPurse(budget, self.journal, self.models, self.most, self.clock)
        await self.purse.begin_run(run_id)
        return self.purse

    async def attempt(
        self,
        usage: Usage | None = None,
        *,
        run_id: str = "r-1",
        gate: asyncio.Event | None = None,
        changes: dict[str, Any] | None = None,
    ) -> AttemptRecord:
        """One attempt as rollouts make it: asked, planned, run (until `gate` opens), finished, told."""
        self.number += 1
        attempt_id, usage = f"a-{self.number}", usage or used(100, 0.1)
        key = AttemptKey("sha256:s", "sha256:t", "chat", {"model": "m"}, self.number)
        async with self.purse.spending("target") as spend:
            await self.journal.plan_attempt(attempt_id, run_id, "t-1", key)
            if gate is not None:
                await gate.wait()
            spend.usage = usage
            record = a_record(attempt_id, key, usage=_mapping(usage), **(changes or {}))
            await self.journal.finish_attempt(record)
        return record

    async def reply(self, usage: Usage | None = None, *, run_id: str = "r-1", model: str = "o") -> None:
        """One request of the optimizer."""
        self.number += 1
        usage = usage or used(100, 0.1)
        async with self.purse.spending("optimizer") as spend:
            spend.usage = usage
        row = {"reply": None, "error": "", "usage": _mapping(usage), "model": model}
        await self.journal.save_reply(run_id, f"1/rank/{self.number}", "p", row)


def _mapping(usage: Usage) -> dict[str, Any]:
    return {name: getattr(usage, name) for name in usage.__dataclass_fields__}


def without_price(usage: Usage) -> Usage:
    """The same tokens at an unknown price."""
    return replace(usage, usd=None)
