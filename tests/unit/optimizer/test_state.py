"""Where a run stands after a step: what is current, and what is best."""

from __future__ import annotations

from daemon.optimizer.decision import RolloutSummary, StepDecision
from daemon.optimizer.gates.measure import measured
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.strict import strict
from daemon.optimizer.state import State
from daemon.rollouts.result import TaskResult
from tests.support.optimizer import make_result, make_skill

RULE = GateRule(min_valid=0.5)
FIRST, SECOND, THIRD = make_skill(), make_skill("- a"), make_skill("- b")


def results(*scores: float | None) -> list[TaskResult]:
    return [make_result(f"t{i}", score) for i, score in enumerate(scores)]


def accepted(before: list[float | None], after: list[float | None]) -> StepDecision:
    one, other = results(*before), results(*after)
    verdict = strict(one, other, RULE)
    assert verdict.ruling == "accepted"
    return StepDecision(
        step=1,
        epoch=1,
        when=0.0,
        outcome="accepted",
        reason="better",
        batches=(),
        rollout=RolloutSummary(),
        budget=1,
        base_digest="",
        verdict=verdict,
        measured=measured(other, RULE),
    )


def begun(*scores: float | None) -> State:
    baseline = measured(results(*scores), RULE)
    assert baseline.score is not None
    return State.initial(FIRST, baseline, baseline.score)


def test_who_beats_the_best_in_pairs_is_the_best() -> None:
    """The first three tasks, which both solve, could not be measured under the candidate: its mean is lower."""
    state = begun(1, 1, 1, 1, 0, 0).after(accepted([1, 1, 1, 1, 0, 0], [None, None, None, 1, 1, 0]), SECOND)
    assert state.score < 0.7
    assert state.skill == state.best == SECOND


def test_a_current_skill_that_is_not_the_best_has_to_beat_the_best_score() -> None:
    state = begun(1, 1, 0, 0)
    behind = State(SECOND, 0.25, True, FIRST, state.best_measured, 0.5)
    assert behind.after(accepted([1, 0, 0, 0], [1, 1, 0, 0]), THIRD).best == FIRST
    assert behind.after(accepted([1, 0, 0, 0], [1, 1, 1, 0]), THIRD).best == THIRD


def test_a_score_over_part_of_the_split_is_not_complete() -> None:
    assert begun(1, 1).complete
    assert not begun(1, None).complete
    state = begun(1, None, 0)
    assert not state.after(accepted([1, None, 0], [1, None, 1]), SECOND).complete
    assert state.after(accepted([1, 0, 0], [1, 0, 1]), SECOND).complete
