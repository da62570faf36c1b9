"""The circuit breaker as a pure state machine: closed, open, half-open.

Invariants: open or half-open, nothing but a probe is admitted; probes come at growing, bounded intervals, spread by a
seed; an outcome that says nothing changes nothing but that a probe which came to nothing is tried again; the same
outcome twice in a terminal phase is no error. Times are seconds of any clock that only its caller knows; one that was
turned back makes no wait longer than the longest interval.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal

from daemon.circuit.effects import Effect

Phase = Literal["closed", "open", "half_open"]


@dataclass(frozen=True)
class Rules:
    """When a circuit opens, and when it is probed."""

    failures: int = 3
    """In a row, of the kind that may pass."""
    first_s: float = 30.0
    """From opening to the first probe."""
    longest_s: float = 1800.0
    """Between two probes, jitter included."""
    growth: float = 2.0
    jitter: float = 0.2
    """Share by which an interval may be shorter, so that many honed do not probe at once."""
    seed: int = 0


@dataclass(frozen=True)
class CircuitState:
    """Where a circuit stands."""

    phase: Phase = "closed"
    reason: str = ""
    """One line: what failed, and what mends it; empty while closed."""
    since: float | None = None
    """When it was opened; None while closed."""
    in_a_row: int = 0
    """Failures with no answer between them."""
    probes: int = 0
    """Made since it was opened."""
    next_probe: float | None = None
    """None while closed."""


def after(state: CircuitState, effect: Effect, now: float, rules: Rules, reason: str = "") -> CircuitState:
    """The state once an outcome is known: of work that was under way, or of a probe."""
    if effect is Effect.ANSWERED:
        # What was answered before a key was revoked may end later: an open circuit is closed by a probe alone.
        return state if state.phase == "open" else CircuitState()
    if effect is Effect.SILENT:
        return replace(state, phase="open") if state.phase == "half_open" else state
    row = state.in_a_row + 1
    if state.phase != "closed":
        # Late failures of what ran already move no probe: only the probes themselves stretch the interval.
        return replace(state, phase="open", in_a_row=row, reason=reason or state.reason)
    if effect is Effect.REFUSED or row >= rules.failures:
        return CircuitState("open", reason, now, row, 0, now + interval(rules, 0))
    return replace(state, in_a_row=row)


def probing(state: CircuitState, now: float, rules: Rules) -> CircuitState:
    """The state once a probe has begun. One that is never heard of again is followed by the next in its turn."""
    if state.phase == "closed":
        return state
    number = state.probes + 1
    return replace(state, phase="half_open", probes=number, next_probe=now + interval(rules, number))


def probe_at(state: CircuitState, now: float, rules: Rules) -> float | None:
    """When the next probe is due; None while closed. Never further off than the longest interval."""
    if state.next_probe is None:
        return None
    return min(state.next_probe, now + rules.longest_s)


def interval(rules: Rules, number: int) -> float:
    """Seconds to probe `number` + 1: growing, bounded, and the same for the same seed."""
    # Exponents are bounded first: a circuit that is open for months must not overflow.
    whole = min(rules.longest_s, rules.first_s * rules.growth ** min(number, 64))
    share = random.Random(f"{rules.seed}:{number}").random()  # noqa: S311 - jitter, no secret
    return whole * (1 - rules.jitter * share)
