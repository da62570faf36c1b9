"""`[daemon.day]`: what all skills of one daemon may take on one day (UTC), counted over restarts from their journals.

Another process may work on a project that does not run here (`honed train --alone`), and a clock may be turned back: so
all journals are read again at every beginning of a run or step. Invariants: nothing begins once a cap is used up, or
while nobody can tell what was spent; what is in flight is finished, so a cap on tokens or money is overshot by that at
most, one on attempts never.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from daemon.budget.capped import DAY_S, refuse_uncounted
from daemon.budget.meter import Meter
from daemon.budget.purse import Average, Purse, Spend
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import Payer, Totals
from daemon.config import ConfigError
from daemon.config_train import CapSection
from daemon.journal.journal import JournalError
from daemon.service.project import Project
from daemon.service.spending import spent_today
from sandboxes.gateway.policy import Usage


class DayReached(BudgetReached):
    """The day's cap of all skills together is used up."""

    def __init__(self, reached: BudgetReached) -> None:
        super().__init__("day", reached.cap, reached.limit, reached.spent)
        self.args = (str(reached).replace("[budget.day]", "[daemon.day]"),)


@dataclass
class SharedDay:
    """What was spent today; one object a daemon."""

    caps: Callable[[], CapSection]
    """As the configuration has them now."""
    projects: Callable[[], Iterable[Project]]
    clock: Callable[[], float] = time.time
    _spent: dict[str, Totals] = field(default_factory=dict)
    """By project."""
    _date: int = -1
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """No run begins while another one still reads what all have spent."""

    async def begin(self) -> None:
        """A run or step begins: read what all have spent today.

        Raises `JournalError` where that cannot be told while something is capped.
        """
        async with self._reading:
            self._turn_the_page()
            for project in self.projects():
                await self._read(project)

    async def _read(self, project: Project) -> None:
        date = self._date
        try:
            found = await spent_today(project.config, self.clock())
        except JournalError as error:
            if self.caps() == CapSection():
                return
            msg = f"[daemon.day] cannot be kept, for nobody can tell what {project.name} has spent today: {error}"
            raise JournalError(msg) from error
        self._turn_the_page()
        if self._date != date:  # midnight came meanwhile: that was another day's
            await self._read(project)
            return
        # Not every request that was paid here stands in the journal, and here not what others paid.
        self._spent[project.name] = _most(self._spent.get(project.name, Totals()), found)

    def check(self) -> None:
        """Raise `DayReached` if nothing more may begin today."""
        self._turn_the_page()
        now = self.clock()
        try:
            Meter("day", self.caps(), _sum(self._spent.values()), 0.0, now).check(now)
        except BudgetReached as reached:
            raise DayReached(reached) from reached
        except ConfigError as error:
            raise ConfigError(str(error).replace("[budget.day]", "[daemon.day]")) from error

    def add(self, attempts: int, usage: Usage, project: str = "") -> None:
        """Count what was begun or has ended."""
        self._turn_the_page()
        self._spent[project] = self._spent.get(project, Totals()).plus(attempts, usage)

    def _turn_the_page(self) -> None:
        """A clock that was turned back over midnight goes on counting: it buys no second day."""
        date = int(self.clock() // DAY_S)
        if date > self._date:
            self._spent = {}
        self._date = date


def _sum(parts: Iterable[Totals]) -> Totals:
    found = Totals()
    for one in parts:
        found = found.plus(one.attempts, Usage(input_tokens=one.tokens, usd=one.usd))
    return found


def _most(one: Totals, other: Totals) -> Totals:
    usd = None if one.usd is None or other.usd is None else max(one.usd, other.usd)
    return Totals(max(one.attempts, other.attempts), max(one.tokens, other.tokens), usd)


@dataclass(frozen=True)
class DayPurse:
    """A `Purse` under the day's cap of all."""

    purse: Purse
    day: SharedDay
    project: str = ""
    _averages: dict[Payer, Average] = field(default_factory=dict)
    """Of what this run has begun."""

    async def begin_run(self, run_id: str) -> None:
        """As `Purse.begin_run`."""
        await self.day.begin()
        await self.purse.begin_run(run_id)

    async def begin_step(self, step: int) -> None:
        """As `Purse.begin_step`."""
        await self.day.begin()
        await self.purse.begin_step(step)

    def check(self) -> None:
        """As `Purse.check`; raises `ConfigError` where a provider of this run does not tell what the caps are on."""
        self.day.check()
        refuse_uncounted("[daemon.day]", self.day.caps(), self._averages)
        self.purse.check()

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """As `Purse.spending`."""
        self.check()
        async with self.purse.spending(payer) as spend:
            self.day.check()  # others have spent while this one waited for room
            self.day.add(1 if payer == "target" else 0, Usage(), self.project)
            try:
                yield spend
            finally:
                self._averages.setdefault(payer, Average()).add(spend.usage)
                self.day.add(0, spend.usage, self.project)

    def settle(self, payer: Payer, usage: Usage) -> None:
        """As `Purse.settle`."""
        self.day.add(0, usage, self.project)
        self.purse.settle(payer, usage)
