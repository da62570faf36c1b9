"""Where a run stands: a fold over its decisions, the same for a decision just made and for one read back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from daemon.optimizer.decision import StepDecision
from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.memory import StepBuffer
from skills_repo.skill import Skill


@dataclass(frozen=True)
class State:
    """The current skill, the best one, and what is remembered."""

    skill: Skill
    score: float
    """Of the current skill on the selection split, by the gate's metric, when it was last judged."""
    complete: bool
    """The score is over the whole split: no task was left out of it."""
    best: Skill
    best_measured: Measured
    best_score: float
    buffer: StepBuffer = field(default_factory=StepBuffer)
    steps: tuple[StepDecision, ...] = ()

    @classmethod
    def initial(cls, skill: Skill, baseline: Measured, score: float) -> Self:
        """Before the first step: current is best."""
        return cls(skill, score, baseline.n == baseline.of, skill, baseline, score)

    def after(self, decision: StepDecision, candidate: Skill | None) -> Self:
        """One step on. `candidate` is the accepted skill."""
        state = replace(self, buffer=self.buffer.after(decision), steps=(*self.steps, decision))
        verdict, found = decision.verdict, decision.measured
        if candidate is None or found is None or verdict is None or verdict.after is None:
            return state
        state = replace(state, skill=candidate, score=verdict.after, complete=verdict.n == verdict.of)
        # Who beats the best one in pairs is the best one: scores over other pairs of tasks do not compare.
        if self.skill.digest != self.best.digest and verdict.after <= self.best_score:
            return state
        return replace(state, best=candidate, best_measured=found, best_score=verdict.after)
