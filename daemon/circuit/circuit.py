"""One provider's circuit, its log lines, and what lets it listen: `Circuit` over the pure machine of `state.py`.

Invariant: every change of phase is one log line, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import structlog

from daemon.budget.purse import Purse, Spend
from daemon.budget.totals import Payer
from daemon.circuit.effects import PROVIDER, Effect
from daemon.circuit.state import CircuitState, Rules, after, probe_at, probing
from daemon.rollouts.progress import AttemptFinished, Event
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import POLICIES, Outcome
from sandboxes.gateway.policy import Usage

log = structlog.get_logger(__name__)


class Circuit:
    """Whether something may be asked now. `now` is in seconds of one monotonic clock."""

    def __init__(self, name: str, rules: Rules | None = None, *, effects: Mapping[Outcome, Effect] = PROVIDER) -> None:
        """`name` is for people: `openai at api.openai.com (key OPENAI_API_KEY)`, or an engine's."""
        self.name = name
        self._rules = rules or Rules()
        self._effects = effects
        self._state = CircuitState()

    @property
    def state(self) -> CircuitState:
        """Phase, reason, since when."""
        return self._state

    @property
    def reason(self) -> str:
        """Why nothing is admitted, in one line that names who was asked; empty while closed."""
        return f"{self.name}: {self._state.reason}" if self._state.phase != "closed" else ""

    def admits(self, now: float) -> bool:
        """Work may begin. A probe asks `probe_due` instead."""
        del now  # only an answer closes a circuit, time alone never does
        return self._state.phase == "closed"

    def note(self, outcome: Outcome, now: float, detail: str = "") -> None:
        """Take an outcome: of work, or of the probe that was begun."""
        parts = [outcome.value.replace("_", " "), " ".join(detail.split())]
        remedy = POLICIES[outcome].remedy
        # What the provider's own failure says already is not said again.
        parts += [remedy] if remedy and remedy.replace("[target] ", "") not in detail else []
        reason = ": ".join(part for part in parts if part)
        self._to(after(self._state, self._effects[outcome], now, self._rules, reason))

    def next_probe(self, now: float) -> float | None:
        """When the next probe is due; None while closed."""
        return probe_at(self._state, now, self._rules)

    def probe_due(self, now: float) -> bool:
        """A probe should be made now."""
        due = self.next_probe(now)
        return due is not None and due <= now

    def begin_probe(self, now: float) -> None:
        """A probe begins: half-open until its outcome is noted."""
        self._to(probing(self._state, now, self._rules))

    def _to(self, state: CircuitState) -> None:
        before, self._state = self._state, state
        if before.phase == state.phase:
            return
        if state.phase == "closed":
            log.info("circuit", provider=self.name, state=state.phase, probes=before.probes)
        elif before.phase == "closed":
            log.warning("circuit", provider=self.name, state=state.phase, reason=state.reason)
        else:
            log.info("circuit", provider=self.name, state=state.phase, reason=state.reason, probes=state.probes)


@dataclass(frozen=True)
class CircuitObserver:
    """An `Observer` that tells a circuit how attempts end; what is read back from the journal says nothing."""

    circuit: Circuit
    clock: Callable[[], float] = time.monotonic

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        if isinstance(event, AttemptFinished) and not event.reused:
            self.circuit.note(Outcome(event.outcome), self.clock(), event.detail)


@dataclass(frozen=True)
class GuardedPurse:
    """A `Purse` that begins nothing while a circuit of whoever is paid is open: all of one process share circuits."""

    purse: Purse
    circuits: Mapping[Payer, Circuit]
    clock: Callable[[], float] = field(default=time.monotonic)

    async def begin_run(self, run_id: str) -> None:
        """As `Purse.begin_run`."""
        await self.purse.begin_run(run_id)

    async def begin_step(self, step: int) -> None:
        """As `Purse.begin_step`."""
        await self.purse.begin_step(step)

    def check(self) -> None:
        """As `Purse.check`."""
        self.purse.check()

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        """As `Purse.spending`; raises `RunStopped` with the circuit's reason before anything is paid."""
        self._refuse(payer)
        async with self.purse.spending(payer) as spend:
            self._refuse(payer)  # it may have opened while this one waited for room
            yield spend

    def settle(self, payer: Payer, usage: Usage) -> None:
        """As `Purse.settle`."""
        self.purse.settle(payer, usage)

    def _refuse(self, payer: Payer) -> None:
        circuit = self.circuits.get(payer)
        if circuit is not None and not circuit.admits(self.clock()):
            raise RunStopped(circuit.reason)
