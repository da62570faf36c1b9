"""Where a run stands: a fold over its decisions, the same for a decision just made and for one read back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from daemon.optimizer.decision import BaselineDecision, Judged, MetaSkillDecision, SlowUpdateDecision, StepDecision
from daemon.optimizer.gates.verdict import Pool, Verdict
from daemon.optimizer.memory import EarlierStep, StepBuffer
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Standing:
    """A skill, and what its own trials on the selection split say."""

    skill: Skill
    pool: Pool = field(default_factory=Pool)
    """The trials that its estimate rests on."""
    score: float | None = None
    """By the gate's metric, when it was last judged; None: it was never measured."""
    complete: bool = False
    """The score is over the whole split: no task was left out of it."""

    @property
    def perfect(self) -> bool:
        """Nothing can be better."""
        return self.complete and self.score is not None and self.score >= 1.0


@dataclass(frozen=True)
class State:
    """The current skill, the best one, and what is remembered."""

    current: Standing
    best: Standing
    tasks: int = 0
    """Of the selection split; 0: nothing is measured."""
    buffer: StepBuffer = field(default_factory=StepBuffer)
    rejected: frozenset[tuple[str, str]] = frozenset()
    """(base, candidate) digests that the gate rejected in this run."""
    meta_skill: str = ""
    """The optimizer's notes to itself."""
    ends: tuple[Skill, ...] = ()
    """The skill at the end of each finished epoch."""
    steps: tuple[StepDecision, ...] = ()
    slow_updates: tuple[SlowUpdateDecision, ...] = ()
    meta_skills: tuple[MetaSkillDecision, ...] = ()

    @classmethod
    def initial(cls, skill: Skill, baseline: BaselineDecision, standing: tuple[EarlierStep, ...] = ()) -> Self:
        """Before the first step: current is best; `standing` is what people took back."""
        found = baseline.measured
        score, complete = (found.score, found.n == found.of) if found else (None, False)
        best = Standing(skill, baseline.pool, score, complete)
        return cls(best, best, buffer=StepBuffer(standing=standing), tasks=found.of if found else 0)

    @property
    def skill(self) -> Skill:
        """The current skill."""
        return self.current.skill

    def after_step(self, decision: StepDecision, candidate: Skill | None) -> Self:
        """One step on. `candidate` is the accepted skill."""
        state = self._judged(decision, candidate)
        return replace(state, buffer=self.buffer.after(decision), steps=(*self.steps, decision))

    def after_slow_update(self, decision: SlowUpdateDecision, candidate: Skill | None) -> Self:
        """One slow update on. `candidate` is the accepted skill, forced or not."""
        state = self._judged(decision, candidate)
        return replace(state, slow_updates=(*self.slow_updates, decision))

    def after_meta_skill(self, decision: MetaSkillDecision) -> Self:
        """With the optimizer's new notes."""
        return replace(self, meta_skill=decision.content, meta_skills=(*self.meta_skills, decision))

    def after_epoch(self) -> Self:
        """The epoch is over."""
        return replace(self, ends=(*self.ends, self.skill))

    def _judged(self, decision: Judged, candidate: Skill | None) -> Self:
        verdict = decision.verdict
        if verdict is None:
            return self
        if candidate is None:
            rejected = {(decision.base_digest, decision.candidate_digest)} if verdict.ruling == "rejected" else set()
            current = self._topped_up(verdict)
            best = current if self._is_best else self.best
            return replace(self, current=current, best=best, rejected=self.rejected | rejected)
        whole, accepted = self._whole(verdict), verdict.ruling == "accepted"
        # What was rejected may have been asked a part of the split only: no score of the whole, if it is forced.
        score = verdict.after if accepted or whole else None
        current = Standing(candidate, verdict.candidate_pool, score, whole)
        better = self._is_best or self.best.score is None or (current.score or 0.0) > self.best.score
        return replace(self, current=current, best=current if accepted and better else self.best)

    def _topped_up(self, verdict: Verdict) -> Standing:
        """The current skill with the trials that a judgement added to its pool."""
        current = replace(self.current, pool=verdict.base_pool)
        if verdict.base_pool == self.current.pool or verdict.current is None:
            return current
        return replace(current, score=verdict.current, complete=current.complete or self._whole(verdict))

    def _whole(self, verdict: Verdict) -> bool:
        """Every task of the split has a score under both skills."""
        return 0 < self.tasks <= verdict.n

    @property
    def _is_best(self) -> bool:
        return self.current.skill.digest == self.best.skill.digest
