"""The circuit as a pure machine: a table of cases, and what must hold whatever happens."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.circuit.effects import ENGINE, PROVIDER, Effect
from daemon.circuit.state import CircuitState, Rules, after, interval, probe_at, probing
from harnesses.outcome import POLICIES, Outcome

RULES = Rules(failures=3, first_s=10.0, longest_s=100.0, growth=2.0, jitter=0.0)
CLOSED = CircuitState()
OPEN = CircuitState("open", "why", since=0.0, in_a_row=3, probes=1, next_probe=30.0)
HALF = replace(OPEN, phase="half_open")

CASES = [
    # before, effect, phase, failures in a row
    (CLOSED, Effect.ANSWERED, "closed", 0),
    (CLOSED, Effect.SILENT, "closed", 0),
    (CLOSED, Effect.FAILED, "closed", 1),
    (replace(CLOSED, in_a_row=1), Effect.FAILED, "closed", 2),
    (replace(CLOSED, in_a_row=2), Effect.SILENT, "closed", 2),
    (replace(CLOSED, in_a_row=2), Effect.ANSWERED, "closed", 0),
    (replace(CLOSED, in_a_row=2), Effect.FAILED, "open", 3),
    (CLOSED, Effect.REFUSED, "open", 1),
    (OPEN, Effect.ANSWERED, "open", 3),  # what was answered before, and ends only now
    (OPEN, Effect.SILENT, "open", 3),
    (OPEN, Effect.FAILED, "open", 4),
    (OPEN, Effect.REFUSED, "open", 4),
    (HALF, Effect.ANSWERED, "closed", 0),
    (HALF, Effect.SILENT, "open", 3),
    (HALF, Effect.FAILED, "open", 4),
    (HALF, Effect.REFUSED, "open", 4),
]


@pytest.mark.parametrize(("before", "effect", "phase", "row"), CASES)
def test_every_phase_takes_every_effect(before: CircuitState, effect: Effect, phase: str, row: int) -> None:
    state = after(before, effect, 20.0, RULES, "new reason")
    assert (state.phase, state.in_a_row) == (phase, row)
    assert (state.phase == "closed") == (state.next_probe is None) == (state.since is None)


def test_the_table_has_every_phase_and_effect() -> None:
    assert {(before.phase, effect) for before, effect, _, _ in CASES} == {
        (phase, effect) for phase in ("closed", "open", "half_open") for effect in Effect
    }


def test_it_opens_with_the_reason_and_a_first_probe() -> None:
    assert after(CLOSED, Effect.REFUSED, 5.0, RULES, "check KEY") == CircuitState("open", "check KEY", 5.0, 1, 0, 15.0)


def test_late_failures_of_what_ran_move_no_probe() -> None:
    state = after(OPEN, Effect.FAILED, 29.0, RULES)
    assert (state.next_probe, state.since, state.reason) == (30.0, 0.0, "why")
    assert after(OPEN, Effect.REFUSED, 29.0, RULES, "another").reason == "another"


def test_probes_come_at_growing_bounded_intervals() -> None:
    state, now, waits = after(CLOSED, Effect.REFUSED, 0.0, RULES), 0.0, []
    for _ in range(6):
        due = probe_at(state, now, RULES)
        assert due is not None
        waits.append(due - now)
        now = due
        state = after(probing(state, now, RULES), Effect.REFUSED, now, RULES)
    assert waits == [10, 20, 40, 80, 100, 100]


def test_a_probe_that_is_never_heard_of_is_followed_by_the_next() -> None:
    state = probing(OPEN, 30.0, RULES)
    assert state.phase == "half_open"
    assert probe_at(state, 31.0, RULES) == 70.0


def test_a_closed_circuit_is_not_probed() -> None:
    assert probing(CLOSED, 1.0, RULES) == CLOSED
    assert probe_at(CLOSED, 1.0, RULES) is None


def test_a_clock_that_was_turned_back_makes_no_wait_longer_than_the_longest() -> None:
    assert probe_at(replace(OPEN, next_probe=1e9), 0.0, RULES) == 100.0


def test_a_clock_that_jumped_ahead_makes_the_probe_due() -> None:
    due = probe_at(OPEN, 1e9, RULES)
    assert due is not None
    assert due <= 1e9


@given(st.integers(0, 10_000), st.integers(0, 99))
def test_intervals_are_bounded_and_the_same_for_a_seed(number: int, seed: int) -> None:
    rules = Rules(seed=seed)
    wait = interval(rules, number)
    assert rules.first_s * (1 - rules.jitter) <= wait <= rules.longest_s
    assert wait == interval(Rules(seed=seed), number)


def test_seeds_spread_the_probes() -> None:
    assert len({interval(Rules(seed=seed), 3) for seed in range(20)}) == 20


@given(st.lists(st.sampled_from([*Effect, "probe"]), max_size=60))
def test_whatever_happens_an_open_circuit_has_a_probe_to_come(events: list[Effect | str]) -> None:
    state, now = CLOSED, 0.0
    for event in events:
        now += 7.0
        state = probing(state, now, RULES) if event == "probe" else after(state, Effect(event), now, RULES, "r")
        due = probe_at(state, now, RULES)
        assert (state.phase == "closed") == (due is None)
        assert due is None or due <= now + RULES.longest_s
        assert state.phase == "closed" or state.reason == "r"


def test_the_tables_know_every_outcome() -> None:
    assert set(PROVIDER) == set(ENGINE) == set(Outcome)


@pytest.mark.parametrize("outcome", Outcome)
def test_what_was_scored_was_answered_and_what_stops_a_run_opens(outcome: Outcome) -> None:
    policy = POLICIES[outcome]
    assert (PROVIDER[outcome] is Effect.ANSWERED) == policy.scored
    if policy.stop_run and outcome is not Outcome.CLI_MISSING:  # which is no provider's
        assert PROVIDER[outcome] is Effect.REFUSED
    both = {PROVIDER[outcome], ENGINE[outcome]}
    assert policy.scored or Effect.SILENT in both, "nobody is blamed for what another did"
