"""When a run stops for a dead provider, and how it says so."""

from __future__ import annotations

import pytest

from daemon.journal.records import AttemptRecord
from daemon.rollouts.stop import Breaker, stopped
from harnesses.outcome import POLICIES, Outcome
from tests.support.optimizer import make_result


def record(outcome: Outcome | None = None, detail: str = "") -> AttemptRecord:
    """An attempt that ended so; None: a scored one."""
    if outcome is None:
        return make_result("t1", 1.0).record
    return make_result("t1", None, outcome=outcome, detail=detail).record


def test_the_line_names_who_failed_how_and_what_to_do() -> None:
    line = str(
        stopped(
            record(Outcome.UNREACHABLE, "connection\nrefused by  api.example.com"),
            {"provider": "openai", "model": "m"},
            tries=3,
        )
    )
    assert line == (
        "openai/m: unreachable on task t1 (3 tries): connection refused by api.example.com: "
        "check [target] base_url and the network"
    )
    assert str(stopped(record(Outcome.AUTH), {})) == "auth on task t1: check the API key"


@pytest.mark.parametrize("outcome", [o for o in Outcome if POLICIES[o].stop_run])
def test_whatever_stops_a_run_has_a_remedy(outcome: Outcome) -> None:
    assert POLICIES[outcome].remedy in str(stopped(record(outcome), {}))


def test_before_anything_worked_one_dead_attempt_is_enough() -> None:
    assert Breaker().note(record(Outcome.UNREACHABLE))


def test_afterwards_it_takes_three_in_a_row() -> None:
    breaker = Breaker()
    assert not breaker.note(record())
    assert [breaker.note(record(Outcome.SERVER_ERROR)) for _ in range(3)] == [False, False, True]


def test_a_valid_attempt_between_starts_the_count_anew() -> None:
    breaker = Breaker()
    rows = [record(), record(Outcome.CUT_STREAM), record(Outcome.CUT_STREAM), record(), record(Outcome.CUT_STREAM)]
    assert [breaker.note(row) for row in rows] == [False] * 5


@pytest.mark.parametrize("outcome", [Outcome.OUT_OF_MEMORY, Outcome.VERIFIER_FAILED, Outcome.SKILL_NOT_VISIBLE])
def test_a_tasks_own_trouble_stops_nothing(outcome: Outcome) -> None:
    breaker = Breaker()
    assert not any(breaker.note(record(outcome)) for _ in range(10))
