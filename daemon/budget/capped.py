"""The purse with caps: step, run and day, each counted over restarts from the journal."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from daemon.budget.meter import Meter
from daemon.budget.purse import Average, Held, Spend, Waiting
from daemon.budget.totals import Models, Payer, Totals, seconds, total, usage_at
from daemon.config import ConfigError
from daemon.config_train import BudgetSection, CapSection
from daemon.journal.journal import Journal
from daemon.journal.records import Decision
from sandboxes.gateway.policy import Usage

DAY_S = 86_400
STEP_BEGAN = "step_began"
"""The kind of the decision that says what a run had spent when a step began: only written where steps are capped."""


@dataclass(frozen=True)
class MostOfOne:
    """What one attempt may use at most; infinite where nothing bounds it."""

    tokens: float = math.inf
    usd: float = math.inf


def refuse_uncounted(key: str, caps: CapSection, averages: Mapping[Payer, Average]) -> None:
    """Tokens that nobody counts are not zero tokens: raise `ConfigError` where `key` caps them, or money."""
    uncounted = [payer for payer, average in averages.items() if average.uncounted]
    if uncounted and (caps.tokens is not None or caps.usd is not None):
        msg = (
            f"{key} cannot be kept: the provider of [{uncounted[0]}] tells no token counts, so cap attempts "
            "instead of tokens or usd"
        )
        raise ConfigError(msg)


@dataclass
class CappedPurse:
    """The `Purse` of a configuration with `[budget]`."""

    budget: BudgetSection
    journal: Journal
    models: Models
    most: Mapping[Payer, MostOfOne] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    _run_id: str = ""
    _run: Meter | None = None
    _day: Meter | None = None
    _step: Meter | None = None
    _date: int = 0
    _flying: list[Held] = field(default_factory=list)
    _attempts_flying: int = 0
    _averages: dict[Payer, Average] = field(default_factory=dict)
    _waiting: Waiting = field(default_factory=Waiting)

    async def begin_run(self, run_id: str) -> None:
        """Count for a run from now on, with what it and its day have spent before."""
        now = self.clock()
        self._run_id, self._date, self._step = run_id, int(now // DAY_S), None
        midnight = float(self._date * DAY_S)
        rows = await self.journal.spent(run_id=run_id)
        self._averages = {}
        for row in rows:
            self._averages.setdefault(row.payer, Average()).add(usage_at(row, self.models))
        worked = seconds(await self.journal.spans(run_id=run_id))
        self._run = Meter("run", self.budget.run, total(rows, self.models), worked, now)
        today = total(await self.journal.spent(since=midnight), self.models)
        worked = seconds(await self.journal.spans(since=midnight), midnight)
        self._day = Meter("day", self.budget.day, today, worked, now)
        await self.journal.begin_span(run_id)

    async def begin_step(self, step: int) -> None:
        """Count for a step from now on, with what it has spent before a restart; 0: outside the steps."""
        self._step = None
        if step == 0 or not self.budget.step.model_fields_set:
            return
        run = self._begun()
        now = self.clock()
        found = await self.journal.find_decision(self._run_id, step, STEP_BEGAN)
        if found is None:
            mark = {
                "attempts": run.spent.attempts,
                "tokens": run.spent.tokens,
                "usd": run.spent.usd,
                "seconds": run.elapsed(now),
            }
            found = Decision(self._run_id, step, STEP_BEGAN, mark)
            await self.journal.save_decision(found)
        before = found.payload
        unknown = run.spent.usd is None or before["usd"] is None
        spent = Totals(
            run.spent.attempts - before["attempts"],
            run.spent.tokens - before["tokens"],
            None if unknown else run.spent.usd - before["usd"],
        )
        self._step = Meter("step", self.budget.step, spent, run.elapsed(now) - before["seconds"], now)

    def check(self) -> None:
        """Raise `BudgetReached` if nothing more may be begun."""
        now = self.clock()
        self._turn_the_page(now)
        for meter in self._meters():
            meter.check(now)
            refuse_uncounted(f"[budget.{meter.scope}]", meter.caps, self._averages)

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """Begin one attempt or request; raises `BudgetReached` before anything is paid."""
        self.check()
        while not self._has_room():
            await self._waiting.wait()
            self.check()
        held, step = self._expected(payer), self._step
        attempts = 1 if payer == "target" else 0
        self._flying.append(held)
        self._attempts_flying += attempts
        for meter in self._meters():
            meter.add(attempts, Usage())
        spend = Spend()
        try:
            yield spend
        finally:
            self._flying.remove(held)
            self._attempts_flying -= attempts
            self._ended(payer, spend.usage, step)
            self._waiting.wake()

    def settle(self, payer: Payer, usage: Usage) -> None:
        """Count what an attempt used that an earlier process began: as an attempt it is counted already."""
        self._ended(payer, usage, self._step)
        self._waiting.wake()

    def _ended(self, payer: Payer, usage: Usage, step: Meter | None) -> None:
        """Count what it used: in the step it began in, and on the day it ended on."""
        self._turn_the_page(self.clock())
        self._averages.setdefault(payer, Average()).add(usage)
        for meter in (step, self._run, self._day):
            if meter is not None:
                meter.add(0, usage)

    def _has_room(self) -> bool:
        """Nothing is in flight, or something is left beyond what is held for it."""
        tokens, usd = sum(held.tokens for held in self._flying), sum(held.usd for held in self._flying)
        return not self._flying or all(meter.has_room(tokens, usd) for meter in self._meters())

    def _expected(self, payer: Payer) -> Held:
        average = self._averages.get(payer)
        if average is not None and average.count:
            return Held(average.tokens / average.count, average.usd / average.count)
        most = self.most.get(payer, MostOfOne())
        return Held(most.tokens, most.usd)

    def _turn_the_page(self, now: float) -> None:
        """A new day has spent nothing yet but what is in flight, which counts when it ends.

        A clock that was turned back over midnight buys no second day: it goes on counting until the next run begins.
        """
        date = int(now // DAY_S)
        if date > self._date and self._day is not None:
            self._date = date
            self._day = Meter("day", self.budget.day, Totals(self._attempts_flying), 0.0, float(date * DAY_S))

    def _meters(self) -> list[Meter]:
        self._begun()
        return [meter for meter in (self._step, self._run, self._day) if meter is not None]

    def _begun(self) -> Meter:
        assert self._run is not None, "begin_run comes before anything is spent"
        return self._run
