"""The strict gate: better, tied, worse, undecided, and what is left out in pairs."""

from __future__ import annotations

import random

import pytest

from daemon.optimizer.gates.rule import GateRule, mean
from daemon.optimizer.gates.strict import strict
from daemon.optimizer.gates.verdict import Verdict
from daemon.rollouts.result import TaskResult
from tests.support.optimizer import make_result


def results(*scores: float | None) -> list[TaskResult]:
    return [make_result(f"t{i}", score) for i, score in enumerate(scores)]


def judge(before: list[float | None], after: list[float | None], rule: GateRule | None = None) -> Verdict:
    return strict(results(*before), results(*after), rule or GateRule())


def test_strictly_better_is_accepted_with_its_figures() -> None:
    verdict = judge([0, 0, 1, 0], [1, 0, 1, 0])
    assert (verdict.ruling, verdict.before, verdict.after, verdict.delta) == ("accepted", 0.25, 0.5, 0.25)
    assert (verdict.n, verdict.of, verdict.valid_share) == (4, 4, 1.0)
    assert (verdict.fixed, verdict.broken) == (("t0",), ())
    assert verdict.rule == "hard 0.250 -> 0.500 on 4 of 4 tasks: strictly better"


def test_a_tie_is_rejected_even_if_other_tasks_are_solved() -> None:
    verdict = judge([1, 0, 0], [0, 1, 0])
    assert (verdict.ruling, verdict.fixed, verdict.broken) == ("rejected", ("t1",), ("t0",))
    assert "tie" in verdict.rule


def test_worse_is_rejected() -> None:
    assert judge([1, 1], [1, 0]).ruling == "rejected"


def test_tasks_invalid_under_either_skill_are_left_out_in_pairs() -> None:
    verdict = judge([None, 1, 0, 0, 0], [1, None, 1, 0, 0], GateRule(min_valid=0.5))
    assert (verdict.n, verdict.of) == (3, 5)
    assert verdict.before == 0.0
    assert verdict.after == pytest.approx(1 / 3)
    assert verdict.fixed == ("t2",)
    assert verdict.ruling == "accepted"


def test_too_little_valid_coverage_decides_nothing() -> None:
    verdict = judge([0, 0, 0, 0, 0], [1, 1, 1, None, None])
    assert verdict.ruling == "indecisive"
    assert "only 3 of 5" in verdict.rule
    assert judge([0, 0, 0, 0, 0], [1, 1, 1, 1, None]).ruling == "accepted"


def test_nothing_valid_decides_nothing_and_has_no_figures() -> None:
    verdict = judge([None], [1], GateRule(min_valid=0.01))
    assert (verdict.ruling, verdict.before, verdict.after, verdict.delta) == ("indecisive", None, None, None)
    assert strict([], [], GateRule()).ruling == "indecisive"


def test_a_task_asked_under_one_skill_only_counts_as_missing() -> None:
    verdict = strict(results(0, 0, 0), results(1), GateRule())
    assert (verdict.ruling, verdict.n, verdict.of) == ("indecisive", 1, 3)


def test_metrics_hard_soft_and_mixed() -> None:
    before, after = [make_result("a", 0.2)], [make_result("a", 0.6)]
    assert strict(before, after, GateRule("hard")).ruling == "rejected"
    assert strict(before, after, GateRule("soft")).delta == pytest.approx(0.4)
    assert strict(before, after, GateRule("mixed", mixed_weight=0.25)).delta == pytest.approx(0.1)


def test_partial_success_is_no_success() -> None:
    assert mean([make_result("a", 0.9, hard=False)], GateRule("hard")) == 0.0


def test_rounding_does_not_break_a_tie() -> None:
    parts: list[float | None] = [0.1, 0.2, 0.3, 0.7, 0.15, 0.55]
    for seed in range(50):
        other = parts.copy()
        random.Random(seed).shuffle(other)
        assert judge(parts, other, GateRule("soft")).ruling == "rejected"


def test_weights_count() -> None:
    rule = GateRule()
    assert mean([make_result("a", 1.0, weight=3.0), make_result("b", 0.0)], rule) == 0.75
    assert mean([make_result("a", 1.0, weight=0.0)], rule) is None


def test_a_zero_baseline_is_a_score_like_any_other() -> None:
    """Fault of a peer: a stored score of 0.0 was read as no score."""
    verdict = judge([0, 0], [0, 0])
    assert (verdict.before, verdict.after, verdict.ruling) == (0.0, 0.0, "rejected")


def test_enough_is_not_a_matter_of_binary_fractions() -> None:
    """0.55 x 20 is 11.000000000000002 in floats: 11 valid tasks of 20 are enough all the same."""
    for percent in range(1, 101):
        for of in range(1, 121):
            rule = GateRule(min_valid=percent / 100)
            least = max(1, -(-percent * of // 100))
            assert rule.enough(least, of)
            assert not rule.enough(least - 1, of)
