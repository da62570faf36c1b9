"""What the rewards of steps come to, and when a task ends early: Harbor's rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.steps import StepDone, combined, ends_after
from daemon.tasks.task import Score, ScorerSpec, Step, Task
from tests.support.tasks import task_for


def step(name: str, **fields: Any) -> Step:
    return Step(name, f"Do {name}.", ScorerSpec("test_script"), {}, **fields)


def task(*steps: Step, **fields: Any) -> Task:
    return task_for("test_script", steps=steps, **fields)


def done(one: Step, value: float = 0.0, feedback: str = "", /, **named: float) -> StepDone:
    detail = {"rewards": named} if named else {}
    value = named.get("reward", value)
    return StepDone(one, Score(value, value >= 1, feedback, detail))


A, B, C = step("a"), step("b"), step("c")


@pytest.mark.parametrize(
    ("rewards", "mean", "solved"),
    [([1, 1, 1], 1.0, True), ([1, 0, 0.5], 0.5, False), ([0, 0, 0], 0.0, False), ([0.1, 0.2, 0.3], 0.2, False)],
)
def test_the_mean_of_the_steps(rewards: list[float], mean: float, solved: bool) -> None:
    ran = [done(one, value) for one, value in zip((A, B, C), rewards, strict=True)]
    score = combined(task(A, B, C), ran)
    assert score.value == pytest.approx(mean)
    assert score.hard is solved
    assert [one["score"] for one in score.detail["steps"]] == rewards


@pytest.mark.parametrize(("rewards", "value"), [([0, 0, 1], 1.0), ([1, 1, 0.25], 0.25)])
def test_final_takes_the_last_step_alone(rewards: list[float], value: float) -> None:
    ran = [done(one, reward) for one, reward in zip((A, B, C), rewards, strict=True)]
    score = combined(task(A, B, C, rewards="final"), ran)
    assert (score.value, score.hard) == (value, value == 1)


def test_means_are_by_name_and_a_step_without_one_counts_0() -> None:
    score = combined(task(A, B), [done(A, reward=1.0, style=0.5), done(B, 0.0, style=0.5)])
    assert score.value == 0.5
    assert score.detail["rewards"] == {"reward": 0.5, "style": 0.5}
    assert combined(task(A, B), [done(A, score=1.0), done(B, score=0.5)]).value == 0.75


def test_rewards_of_which_none_counts_are_no_score() -> None:
    with pytest.raises(
        VerifierError, match="task t: its steps write the rewards beauty, style, and none is named reward"
    ):
        combined(task(A, B), [done(A, beauty=1.0), done(B, style=1.0)])


@pytest.mark.parametrize(
    ("least", "rewards", "why"),
    [
        ({}, {"reward": 0.0}, ""),
        ({"reward": 0.5}, {"reward": 0.5}, ""),
        ({"reward": 0.5}, {"reward": 0.25}, "its reward is 0.25, below the min_reward 0.5"),
        ({"style": 0.5}, {"reward": 1.0}, "its style is missing, below the min_reward 0.5"),
        ({"style": -1.0}, {"reward": 1.0, "style": math.nan}, "its style is missing, below the min_reward -1"),
        ({"reward": 1.0, "style": 0.0}, {"reward": 1.0, "style": 0.0}, ""),
    ],
)
def test_a_step_below_its_threshold_ends_the_task(
    least: Mapping[str, float], rewards: dict[str, float], why: str
) -> None:
    assert ends_after(done(step("a", min_reward=least), 0.0, "", **rewards)) == why


def test_a_task_that_ended_early_has_the_mean_of_what_ran_and_is_not_solved() -> None:
    gate = step("a", min_reward={"style": 1.0})
    score = combined(task(gate, B, C), [done(gate, reward=1.0, style=0.0)])
    assert (score.value, score.hard) == (1.0, False)
    assert score.feedback == "the task ended after step 1 of 3 (a): its style is 0, below the min_reward 1"


def test_feedback_names_the_step_that_failed() -> None:
    ran = [done(A, 1.0), done(B, 0.5, "1 of 2 checks failed"), done(C, 0.0, "the task's checks did not all pass")]
    assert combined(task(A, B, C), ran).feedback == (
        "step 2 of 3 (b): 1 of 2 checks failed; step 3 of 3 (c): the task's checks did not all pass"
    )
