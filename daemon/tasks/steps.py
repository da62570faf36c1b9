"""Tasks that are done in steps: when one ends early, and what the rewards of its steps come to (Harbor's rules).

A step whose reward is below its `min_reward` ends the task. `mean`: of each reward name the mean over the steps that
ran, a step without that name counting 0; `final`: the rewards of the last step that ran. Unlike in Harbor a step that
could not be scored is left out of nothing: it makes the whole attempt invalid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.tasks.scorers.reward import NAME, counting
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import Score, Step, Task


@dataclass(frozen=True)
class StepDone:
    """A step that ran."""

    step: Step
    score: Score

    @property
    def rewards(self) -> Mapping[str, float]:
        """By name, as its test script wrote them."""
        named: Mapping[str, float] = self.score.detail.get("rewards", {NAME: self.score.value})
        return named


def place_of(task: Task, step: Step) -> str:
    """What messages call a step."""
    return f"step {task.steps.index(step) + 1} of {len(task.steps)} ({step.name})"


def ends_after(done: StepDone) -> str:
    """Why the task ends with this step, in words; empty where it goes on."""
    for name, least in sorted(done.step.min_reward.items()):
        reward = done.rewards.get(name, math.nan)
        if not reward >= least:  # one that is missing, or no number, is below anything
            told = "missing" if math.isnan(reward) else f"{reward:g}"
            return f"its {name} is {told}, below the min_reward {least:g}"
    return ""


def combined(task: Task, done: Sequence[StepDone]) -> Score:
    """The task's score from the steps that ran, in their order; solved only if all of them did.

    Raises `VerifierError` if no reward counts for the task as a whole.
    """
    named = _means(done) if task.rewards == "mean" else done[-1].rewards
    value = counting(named)
    if value is None:
        names = ", ".join(sorted(named))
        msg = f"task {task.id}: its steps write the rewards {names[:200]}, and none is named {NAME}: name one so"
        raise VerifierError(msg)
    told = [f"{place_of(task, one.step)}: {one.score.feedback}" for one in done if one.score.feedback]
    ended = "" if len(done) == len(task.steps) else ends_after(done[-1])
    if ended:
        told.append(f"the task ended after {place_of(task, done[-1].step)}: {ended}")
    return Score(
        value=abs(value),
        hard=value >= 1.0 and not ended,
        feedback="; ".join(told),
        detail={
            "rewards": dict(named),
            "steps": [{"name": one.step.name, "score": one.score.value, **one.score.detail} for one in done],
        },
    )


def _means(done: Sequence[StepDone]) -> dict[str, float]:
    names = sorted({name for one in done for name in one.rewards})
    return {name: math.fsum(one.rewards.get(name, 0.0) for one in done) / len(done) for name in names}
