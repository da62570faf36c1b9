"""`[daemon.day]`: what all skills of one daemon may take on one day (UTC), counted over restarts from their journals.

Invariant: nothing begins once a cap is used up; what is in flight is finished, so a cap on tokens or money is overshot
by that at most, one on attempts never.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from daemon.budget.capped import DAY_S
from daemon.budget.meter import Meter
from daemon.budget.purse import Purse, Spend
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import Payer, Totals
from daemon.config_train import CapSection
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
    _spent: Totals = field(default_factory=Totals)
    _date: int = -1
    _known: set[str] = field(default_factory=set)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """No run begins while another one still reads what all have spent."""

    async def begin(self) -> None:
        """Read what projects that were not counted yet have spent today."""
        async with self._reading:
            self._turn_the_page()
            for project in self.projects():
                if project.name not in self._known:
                    self._known.add(project.name)
                    found = await spent_today(project.config, self.clock())
                    self._spent = self._spent.plus(found.attempts, Usage(input_tokens=found.tokens, usd=found.usd))

    def check(self) -> None:
        """Raise `DayReached` if nothing more may begin today."""
        self._turn_the_page()
        now = self.clock()
        try:
            Meter("day", self.caps(), self._spent, 0.0, now).check(now)
        except BudgetReached as reached:
            raise DayReached(reached) from reached

    def add(self, attempts: int, usage: Usage) -> None:
        """Count what was begun or has ended."""
        self._turn_the_page()
        self._spent = self._spent.plus(attempts, usage)

    def _turn_the_page(self) -> None:
        date = int(self.clock() // DAY_S)
        if date != self._date:
            # What a project spent on this day before it was first asked is still read.
            self._known = set() if self._date < 0 else {project.name for project in self.projects()}
            self._date, self._spent = date, Totals()


@dataclass(frozen=True)
class DayPurse:
    """A `Purse` under the day's cap of all."""

    purse: Purse
    day: SharedDay

    async def begin_run(self, run_id: str) -> None:
        """As `Purse.begin_run`."""
        await self.day.begin()
        await self.purse.begin_run(run_id)

    async def begin_step(self, step: int) -> None:
        """As `Purse.begin_step`."""
        await self.purse.begin_step(step)

    def check(self) -> None:
        """As `Purse.check`."""
        self.day.check()
        self.purse.check()

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """As `Purse.spending`."""
        self.day.check()
        async with self.purse.spending(payer) as spend:
            self.day.check()  # others have spent while this one waited for room
            self.day.add(1 if payer == "target" else 0, Usage())
            try:
                yield spend
            finally:
                self.day.add(0, spend.usage)

    def settle(self, payer: Payer, usage: Usage) -> None:
        """As `Purse.settle`."""
        self.day.add(0, usage)
        self.purse.settle(payer, usage)
