"""How the daemon stops a run softly: nothing new is begun, and what runs already is finished and kept.

Invariant: a pulled leash stays pulled; the run that it held can go on later, and pays for nothing twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from daemon.budget.purse import Purse, Spend
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import Payer
from sandboxes.gateway.policy import Usage

Pull = Literal["", "drain", "pause", "cancel"]


class Drained(BudgetReached):
    """Nothing more may be begun, for somebody said so: handled like a cap of the run that is used up."""

    def __init__(self, reason: str) -> None:
        super().__init__("run", "attempts", 0, 0)
        self.args = (reason,)


@dataclass
class Leash:
    """One run's; shared by the service, which pulls, and the purse, which heeds it."""

    pulled: Pull = ""
    reason: str = ""

    def pull(self, how: Pull, reason: str) -> None:
        """Begin nothing new from now on; the first pull counts, but a cancellation overrules the others."""
        if not self.pulled or how == "cancel":
            self.pulled, self.reason = how, reason


@dataclass(frozen=True)
class LeashedPurse:
    """A `Purse` on a leash."""

    purse: Purse
    leash: Leash

    async def begin_run(self, run_id: str) -> None:
        """As `Purse.begin_run`."""
        await self.purse.begin_run(run_id)

    async def begin_step(self, step: int) -> None:
        """As `Purse.begin_step`."""
        await self.purse.begin_step(step)

    def check(self) -> None:
        """As `Purse.check`; raises `Drained` on a pulled leash."""
        self._heed()
        self.purse.check()

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """As `Purse.spending`; raises `Drained` before anything is paid."""
        self._heed()
        async with self.purse.spending(payer) as spend:
            self._heed()  # it may have been pulled while this one waited for room
            yield spend

    def settle(self, payer: Payer, usage: Usage) -> None:
        """As `Purse.settle`."""
        self.purse.settle(payer, usage)

    def _heed(self) -> None:
        if self.leash.pulled:
            raise Drained(self.leash.reason)
