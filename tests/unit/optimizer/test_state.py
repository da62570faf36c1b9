"""Where a run stands after a step: what is current, what is best, and what is remembered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.optimizer.decision import (
    BaselineDecision,
    MetaSkillDecision,
    RolloutSummary,
    SlowUpdateDecision,
    StepDecision,
)
from daemon.optimizer.gates.measure import measured
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.strict import strict
from daemon.optimizer.gates.verdict import Pool, Verdict
from daemon.optimizer.state import Standing, State
from daemon.rollouts.result import TaskResult
from tests.support.optimizer import make_result, make_skill

RULE = GateRule(min_valid=0.5)
FIRST, SECOND, THIRD = make_skill(), make_skill("- a"), make_skill("- b")


def results(*scores: float | None) -> list[TaskResult]:
    return [make_result(f"t{i}", score) for i, score in enumerate(scores)]


def step(verdict: Verdict | None, **fields: Any) -> StepDecision:
    fields = {"outcome": verdict.ruling if verdict else "no_edits", "base_digest": FIRST.digest, **fields}
    return StepDecision(
        step=1, epoch=1, when=0.0, reason="", batches=(), rollout=RolloutSummary(), budget=1, verdict=verdict, **fields
    )


def judged(before: list[float | None], after: list[float | None], **fields: Any) -> StepDecision:
    return step(strict(results(*before), results(*after), RULE), **fields)


def begun(*scores: float | None) -> State:
    baseline = measured(results(*scores), RULE)
    return State.initial(FIRST, BaselineDecision(when=0.0, base_digest=FIRST.digest, measured=baseline, fingerprint={}))


def test_who_beats_the_best_in_pairs_is_the_best() -> None:
    """The first three tasks, which both solve, could not be measured under the candidate: its mean is lower."""
    decision = judged([1, 1, 1, 1, 0, 0], [None, None, None, 1, 1, 0])
    state = begun(1, 1, 1, 1, 0, 0).after_step(decision, SECOND)
    assert state.current.score is not None
    assert state.current.score < 0.7
    assert state.skill == state.best.skill == SECOND


def test_a_current_skill_that_is_not_the_best_has_to_beat_the_best_score() -> None:
    state = begun(1, 1, 0, 0)
    behind = replace(state, current=Standing(SECOND, score=0.25, complete=True))
    assert behind.after_step(judged([1, 0, 0, 0], [1, 1, 0, 0]), THIRD).best.skill == FIRST
    assert behind.after_step(judged([1, 0, 0, 0], [1, 1, 1, 0]), THIRD).best.skill == THIRD


def test_a_score_over_part_of_the_split_is_not_complete() -> None:
    assert begun(1, 1).current.perfect
    assert not begun(1, None).current.perfect
    state = begun(1, None, 0)
    assert not state.after_step(judged([1, None, 0], [1, None, 1]), SECOND).current.complete
    assert state.after_step(judged([1, 0, 0], [1, 0, 1]), SECOND).current.complete


def test_a_rejected_candidate_is_remembered_by_what_it_was_tried_on() -> None:
    state = begun(1, 0).after_step(judged([1, 0], [0, 0], candidate_digest="sha256:c"), None)
    assert state.rejected == {(FIRST.digest, "sha256:c")}
    assert begun(1, 0).after_step(judged([1, None], [1, None], candidate_digest="sha256:c"), None).skill == FIRST


def test_trials_of_a_judgement_are_pooled_and_never_the_luckiest_kept() -> None:
    verdict = replace(strict(results(1, 0), results(0, 0), RULE), before=0.25, current=0.25, base_pool=Pool(0, 4))
    state = begun(1, 0).after_step(step(verdict), None)
    assert (state.current.score, state.current.pool) == (0.25, Pool(0, 4))
    assert state.best == state.current


def slow(ruling: str, **fields: Any) -> SlowUpdateDecision:
    verdict = Verdict(ruling, 0.5, 0.25, -0.25, 2, 2, (), (), "", candidate_pool=Pool(0, 1))  # type: ignore[arg-type]
    return SlowUpdateDecision(
        step=2, epoch=2, when=0.0, outcome="accepted", reason="", base_digest="", verdict=verdict, **fields
    )


def test_a_forced_slow_update_is_current_with_its_own_score_and_not_best() -> None:
    """Faults of a peer: the score of the skill before was kept, and a made-up row stood in its cache."""
    state = begun(1, 0).after_slow_update(slow("rejected", forced=True), SECOND)
    assert (state.skill, state.current.score) == (SECOND, 0.25)
    assert (state.best.skill, state.best.score) == (FIRST, 0.5)


def test_an_accepted_slow_update_is_best() -> None:
    assert begun(1, 0).after_slow_update(slow("accepted"), SECOND).best.skill == SECOND


def test_without_a_gate_the_newest_skill_is_the_best() -> None:
    start = State.initial(FIRST, BaselineDecision(when=0.0, base_digest="", measured=None, fingerprint={}))
    verdict = Verdict("accepted", None, None, None, 0, 4, (), (), "the gate is off")
    state = start.after_step(step(verdict), SECOND).after_step(step(verdict), THIRD)
    assert state.best.skill == state.skill == THIRD
    assert not state.current.perfect


def test_epochs_leave_their_last_skill_and_the_notes_stand_until_the_next_ones() -> None:
    state = begun(1, 0).after_epoch().after_step(judged([1, 0], [1, 1]), SECOND).after_epoch()
    assert state.ends == (FIRST, SECOND)
    state = state.after_meta_skill(MetaSkillDecision(step=2, epoch=2, content="short rules help"))
    assert state.after_epoch().meta_skill == "short rules help"


def part(ruling: str, after: float, n: int, of: int) -> Verdict:
    """A judgement that stopped early: of `of` tasks asked, all valid, where the split has more."""
    pools = {"base_pool": Pool(0, 4), "candidate_pool": Pool(1, 2)}
    return Verdict(ruling, 0.5, after, after - 0.5, n, of, (), (), "", current=0.5, **pools)  # type: ignore[arg-type]


def test_a_forced_skill_that_was_asked_a_part_of_the_split_has_no_score_of_the_whole() -> None:
    """It solved the one task that was asked, and lost by the evidence: that is no 1.0, and ends no run."""
    decision = slow("rejected", forced=True).model_copy(update={"verdict": part("rejected", 1.0, 1, 1)})
    state = begun(1, 0, 0).after_slow_update(decision, SECOND)
    assert (state.skill, state.current.score, state.current.complete) == (SECOND, None, False)
    assert not state.current.perfect
    assert state.best.skill == FIRST


def test_a_judgement_that_stopped_early_takes_nothing_from_the_current_skills_own_score() -> None:
    state = begun(1, 1, 1).after_step(step(replace(part("rejected", 0.0, 0, 0), current=1.0)), None)
    assert (state.current.pool, state.current.score) == (Pool(0, 4), 1.0)
    assert state.current.perfect


def test_a_judgement_of_some_tasks_makes_no_whole_of_an_incomplete_score() -> None:
    state = begun(1, None, 1).after_step(step(replace(part("rejected", 0.0, 1, 1), current=1.0)), None)
    assert state.current.score == 1.0
    assert not state.current.perfect
