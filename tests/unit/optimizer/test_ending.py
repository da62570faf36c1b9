"""When a run is over before its last step, and in which words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from daemon.optimizer.batches import plan_steps
from daemon.optimizer.decision import RolloutSummary, SlowUpdateDecision, StepDecision
from daemon.optimizer.ending import Ending
from daemon.optimizer.state import Standing, State
from tests.support.optimizer import make_skill

PLANS = plan_steps([f"t{i}" for i in range(4)], epochs=3, batch=2, accumulation=1, seed=1)
NOW = Standing(make_skill(), score=0.5, complete=True)


def state(*outcomes: Any, current: Standing = NOW) -> State:
    steps = tuple(
        StepDecision(
            step=plan.step,
            epoch=plan.epoch,
            when=0.0,
            outcome=outcome,
            reason="why",
            batches=plan.batches,
            rollout=RolloutSummary(),
            budget=1,
            base_digest="",
        )
        for plan, outcome in zip(PLANS, outcomes, strict=False)
    )
    return State(current, current, steps=steps)


def test_a_run_goes_on_while_there_is_something_to_learn() -> None:
    for done in range(6):
        assert Ending(PLANS).before(PLANS[done], state(*["rejected"] * done)) == ""
    assert Ending(PLANS).of(state(*["rejected"] * 6)) == ("6 of 6 steps made", False)


def test_a_perfect_score_ends_it_unless_nothing_is_gated() -> None:
    perfect = state("accepted", current=replace(NOW, score=1.0))
    assert "the selection score is 1.0" in Ending(PLANS).before(PLANS[1], perfect)
    assert Ending(PLANS, gated=False).before(PLANS[1], perfect) == ""
    assert Ending(PLANS).before(PLANS[1], state(current=replace(NOW, score=1.0, complete=False))) == ""


@pytest.mark.parametrize(
    ("outcomes", "ends"),
    [
        (["nothing_to_learn", "nothing_to_learn"], True),
        (["nothing_to_learn", "rejected"], False),
        (["rejected", "nothing_to_learn", "nothing_to_learn"], False),
        (["rejected", "nothing_to_learn", "nothing_to_learn", "nothing_to_learn"], True),
    ],
)
def test_a_whole_epoch_without_a_failure_ends_it(outcomes: list[str], ends: bool) -> None:
    said = Ending(PLANS).before(PLANS[len(outcomes)], state(*outcomes))
    assert bool(said) is ends
    assert not ends or "nothing is left to learn from" in said
    assert Ending(PLANS).of(state(*outcomes))[1] is False


@pytest.mark.parametrize(
    ("outcomes", "useless"),
    [
        (["optimizer_error"] * 2, False),
        (["optimizer_error"] * 3, True),
        (["optimizer_error", "optimizer_error", "rejected", "optimizer_error"], False),
        (["rejected"] * 3 + ["optimizer_error"] * 3, True),
    ],
)
def test_an_optimizer_that_never_answers_usably_fails_the_run(outcomes: list[str], useless: bool) -> None:
    found = Ending(PLANS).useless(state(*outcomes))
    assert bool(found) is useless
    assert not useless or ("3 steps in a row" in found and "[optimizer] model" in found)


def test_also_where_it_had_only_one_step_to_answer_in() -> None:
    ending = Ending(PLANS[:1])
    words, failed = ending.of(state("optimizer_error"))
    assert failed
    assert "the run's only step" in words
    assert Ending(PLANS[:1]).of(state("rejected")) == ("1 of 1 step made", False)


def test_an_epoch_of_nothing_but_invalid_attempts_fails_the_run() -> None:
    assert Ending(PLANS).useless(state("no_valid_attempts")) == ""
    words, failed = Ending(PLANS).of(state("no_valid_attempts", "no_valid_attempts"))
    assert failed
    assert words == "no attempt of epoch 1 was valid: why"


def test_an_initial_skill_that_is_perfect_is_said_to_be_so() -> None:
    words, failed = Ending(PLANS).of(state(current=replace(NOW, score=1.0)))
    assert words == "before the first step the selection score is 1.0: nothing better can be found"
    assert not failed


def test_a_slow_update_that_was_kept_gives_the_next_epoch_something_to_see() -> None:
    told = state("nothing_to_learn", "nothing_to_learn")
    kept = SlowUpdateDecision(step=2, epoch=1, when=0.0, outcome="accepted", reason="", base_digest="")
    assert Ending(PLANS).before(PLANS[2], replace(told, slow_updates=(kept,))) == ""
    dropped = kept.model_copy(update={"outcome": "rejected"})
    assert "nothing is left" in Ending(PLANS).before(PLANS[2], replace(told, slow_updates=(dropped,)))
