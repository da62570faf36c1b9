"""Whom to ask before spending: rollouts before each attempt, the optimizer before each request.

How far a cap can be overshot: attempts not at all. Tokens and money: for everything in flight as much is held back as
its like has used on average so far (before any has ended: an attempt's own cap; without one, the first goes alone), and
nothing begins unless something is left beyond that. So it is what the last one begun uses, plus what those in flight
use over what was held for them. Time: what is in flight is finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from daemon.budget.totals import Payer
from daemon.journal.journal import Journal
from sandboxes.gateway.policy import Usage

_SILENT = 3
"""A single answer without token counts may have been cut off."""


@dataclass
class Spend:
    """One attempt, or one request of the optimizer, that may be paid."""

    usage: Usage = field(default_factory=Usage)
    """Set by whoever spends once it is known; left as it is if the attempt was cut off."""


class Purse(Protocol):
    """What may be spent. One object a process; it is told which run and step the spending is for."""

    async def begin_run(self, run_id: str) -> None:
        """Count for a run from now on, with what it and its day have spent before."""

    async def begin_step(self, step: int) -> None:
        """Count for a step from now on, with what it has spent before a restart; 0: outside the steps."""

    def check(self) -> None:
        """Raise `BudgetReached` if nothing more may be begun."""

    def spending(self, payer: Payer) -> AbstractAsyncContextManager[Spend]:
        """Begin one attempt or request; raises `BudgetReached` before anything is paid.

        Waits while what is in flight may use up what is left.
        """

    def settle(self, payer: Payer, usage: Usage) -> None:
        """Count what an attempt used that an earlier process began: as an attempt it is counted already."""


class OpenPurse:
    """The `Purse` without caps."""

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = journal

    async def begin_run(self, run_id: str) -> None:
        """Note who works on the run."""
        if self._journal is not None:
            await self._journal.begin_span(run_id)

    async def begin_step(self, step: int) -> None:
        """Nothing to count."""

    def check(self) -> None:
        """Everything may be begun."""

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """At once."""
        yield Spend()

    def settle(self, payer: Payer, usage: Usage) -> None:
        """Nothing to count."""


@dataclass
class Held:
    """What is held back for one that is in flight."""

    tokens: float
    usd: float


@dataclass
class Average:
    """What one of a kind has used so far, on average."""

    count: int = 0
    """Those whose tokens are known."""
    tokens: int = 0
    usd: float = 0.0
    silent: int = 0
    """Those that made requests without any token being counted."""

    def add(self, usage: Usage) -> None:
        """One more has ended."""
        if not usage.tokens:
            self.silent += usage.requests > 0
            return
        self.count += 1
        self.tokens += usage.tokens
        self.usd += usage.usd or 0.0

    @property
    def uncounted(self) -> bool:
        """The provider tells no token counts: no cap on them can be kept."""
        return not self.count and self.silent >= _SILENT


class Waiting:
    """Lets those wait who may not begin yet."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()

    def wake(self) -> None:
        """Something has ended."""
        self._changed.set()

    async def wait(self) -> None:
        """Until something ends."""
        self._changed.clear()
        await self._changed.wait()
