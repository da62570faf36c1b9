"""One door's book: what was admitted, what it cost, what was refused, what failed.

Caps are exact to one request, also when requests run side by side: a request is admitted at once while the most that
it can cost (input of its size, output as declared) still fits; else it waits for the running ones to settle, and goes
alone. It is refused only when what was really used has reached the cap. So a cap is overshot by one request at most,
and nothing is refused early.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sandboxes.gateway.dialects import Refusal
from sandboxes.gateway.policy import DoorPolicy, ProviderFailure, Tally, Usage
from sandboxes.gateway.usage import HOURLY

if TYPE_CHECKING:
    from sandboxes.gateway.usage import Counts

NOTES = 200
"""Refusals and removals kept for each door: an agent that asks for ever must not fill our memory.

The first refusal at each cap is kept in any case: the attempt's verdict rests on it.
"""


@dataclass(frozen=True)
class Reserve:
    """What a request may cost at most, guessed before it is sent. Tokens."""

    input: int
    output: int

    @property
    def tokens(self) -> int:
        """Both together."""
        return self.input + self.output


@dataclass(eq=False)
class Ticket:
    """One running request."""

    reserve: Reserve
    heard: float
    """Monotonic time when the provider last told something for it, at first when it was admitted."""

    def hear(self, told: float) -> None:
        """Note when the provider told something: a sign of life alone does not count."""
        self.heard = max(self.heard, told)


class Ledger:
    """The book of one door. `Usage.requests` counts answered requests; the cap on requests counts admitted ones."""

    def __init__(self, policy: DoorPolicy) -> None:
        self._policy = policy
        self._running: list[Ticket] = []
        self._settled = asyncio.Condition()
        self._admitted = 0
        self.refused = 0
        """Refusals so far, also those that are no longer noted."""
        self._tally = Tally()

    @property
    def tally(self) -> Tally:
        """What went through so far; running requests tell only how long the provider has been silent."""
        silent = time.monotonic() - min((ticket.heard for ticket in self._running), default=time.monotonic())
        return replace(self._tally, waiting_s=max(0.0, silent))

    async def admit(self, reserve: Reserve) -> Ticket:
        """Wait until the request may go; returns its ticket. Raises `Refusal` once a cap is reached."""
        async with self._settled:
            while True:
                self._refuse_over_cap()
                if not self._running or self._fits(reserve):
                    break
                await self._settled.wait()
            ticket = Ticket(reserve, time.monotonic())
            self._running.append(ticket)
            self._admitted += 1
            return ticket

    async def settle(self, ticket: Ticket, counts: Counts | None, *, answered: bool) -> Usage:
        """Close a ticket with what it used, if anything; returns the priced usage."""
        usage = Usage() if counts is None else counts.usage(self._policy.price)
        if not answered:
            usage = replace(usage, requests=0)
        self._running.remove(ticket)
        self._tally = replace(self._tally, usage=self._tally.usage + usage)
        async with self._settled:
            self._settled.notify_all()
        return usage

    def refuse(self, what: str) -> None:
        """Note a refusal."""
        self.refused += 1
        known = self._tally.refusals
        if len(known) >= NOTES and (what in known or not what.startswith("cap:")):
            return
        self._tally = replace(self._tally, refusals=(*self._tally.refusals, what))

    def removed(self, names: list[str]) -> None:
        """Note what was taken out of a request; each name is kept once."""
        known = self._tally.removed_tools
        fresh = tuple(name for name in dict.fromkeys(names) if name not in known)
        self._tally = replace(self._tally, removed_tools=(*known, *fresh)[:NOTES])

    def retried(self, kind: ProviderFailure, lost_s: float) -> None:
        """Note one more try of ours: why, and the time that the failed one and the wait after it take."""
        tally = self._tally
        self._tally = replace(tally, retries=tally.retries + 1, held_up_s=tally.held_up_s + lost_s, held_up_by=kind)

    def failed(self, kind: ProviderFailure, line: str) -> None:
        """Note an upstream failure that is passed on."""
        failures = (*self._tally.failures, kind)
        self._tally = replace(self._tally, failures=failures, last_failure=line, last_request_failed=True)

    def succeeded(self) -> None:
        """Note that a request ended well."""
        self._tally = replace(self._tally, last_request_failed=False)

    def look(self, payload: bytes) -> None:
        """Note which marks a request, as `json.dumps` writes it, holds; each is looked for until it was seen."""
        missing = self._policy.marks - self._tally.seen
        found = frozenset(mark for mark in missing if json.dumps(mark)[1:-1].encode() in payload)
        if found:
            self._tally = replace(self._tally, seen=self._tally.seen | found)

    def _refuse_over_cap(self) -> None:
        caps, used = self._policy.caps, self._tally.usage
        if self._admitted >= caps.requests:
            raise Refusal("cap: requests", f"this attempt's request cap ({caps.requests}) is reached")
        if used.tokens >= caps.tokens:
            raise Refusal("cap: tokens", f"this attempt's token cap ({caps.tokens}) is reached")
        if caps.usd is None:
            return
        if self._policy.price is None or used.usd is None:
            raise Refusal("cap: usd", "this attempt has a money cap but its model has no known price")
        if used.usd >= caps.usd:
            raise Refusal("cap: usd", f"this attempt's money cap ({caps.usd:g} USD) is reached")

    def _fits(self, reserve: Reserve) -> bool:
        caps, used = self._policy.caps, self._tally.usage
        reserves = [*(ticket.reserve for ticket in self._running), reserve]
        if used.tokens + sum(each.tokens for each in reserves) > caps.tokens:
            return False
        if caps.usd is None or used.usd is None or self._policy.price is None:
            return True
        price = self._policy.price
        dearest = max(price.input, price.written * HOURLY)
        usd = sum(each.input * dearest + each.output * price.output for each in reserves) / 1_000_000
        return used.usd + usd <= caps.usd
