"""One step: rollout, reflect, merge, rank, apply, gate. It ends in a decision; committing is the loop's.

Every way out has a name and a sentence. Nothing here looks at the test split.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.batches import Minibatch, StepPlan, minibatches
from daemon.optimizer.decision import RefusedEdit, RolloutSummary, StepDecision, StepOutcome
from daemon.optimizer.gates.measure import Selection, measured
from daemon.optimizer.gates.rule import GateRule, mean
from daemon.optimizer.gates.strict import strict
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.merge import Merger
from daemon.optimizer.rank import rank
from daemon.optimizer.reflect import Reflector
from daemon.optimizer.settings import Knobs
from daemon.redaction import holds_secret
from daemon.rollouts.parallel import ordered
from daemon.rollouts.progress import Observer, PhaseStarted
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Applied, Edit, EditStatus, apply
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Tools:
    """What every step of a run works with."""

    run_id: str
    rollouts: Rollouts
    optimizer: Optimizer
    selection: Selection
    train: Mapping[str, Task]
    knobs: Knobs
    observer: Observer
    clock: Callable[[], float] = time.time


class _EndedError(Exception):
    """The step needs no further phase."""

    def __init__(self, outcome: StepOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: StepOutcome = outcome
        self.reason = reason


@dataclass
class Step:
    """One step in the making, under the current skill."""

    tools: Tools
    plan: StepPlan
    skill: Skill
    buffer: StepBuffer
    """Of this epoch."""
    budget: int
    _found: dict[str, Any] = field(default_factory=dict)
    """Fields of the decision, as the phases find them."""
    _notes: list[str] = field(default_factory=list)
    _usage: Usage = field(default_factory=Usage)

    async def run(self) -> StepDecision:
        """Work the step out; raises `RunStopped` if a provider or an engine is beyond help."""
        try:
            cut = await self._rollout()
            edits = await self._propose(cut)
            chosen = await self._choose(edits)
            candidate = self._apply(chosen)
            verdict = await self._gate(candidate)
        except _EndedError as ended:
            return self._decide(ended.outcome, ended.reason)
        return self._decide(verdict.ruling, _in_words(verdict))

    def _decide(self, outcome: StepOutcome, reason: str) -> StepDecision:
        return StepDecision(
            step=self.plan.step,
            epoch=self.plan.epoch,
            when=self.tools.clock(),
            outcome=outcome,
            reason=reason,
            batches=self.plan.batches,
            budget=self.budget,
            base_digest=self.skill.digest,
            notes=tuple(self._notes),
            optimizer_usage=self._usage,
            **self._found,
        )

    async def _rollout(self) -> list[Minibatch]:
        """Attempt the batches and cut what came of it into minibatches."""
        tools, plan, train = self.tools, self.plan, self.tools.knobs.train
        self._say("rollout", f"{sum(map(len, plan.batches))} train tasks")
        batches = await ordered(
            tools.rollouts.score(self.skill, [tools.train[i] for i in sorted(batch)], run_id=tools.run_id)
            for batch in plan.batches
        )
        summary = _summary([result for batch in batches for result in batch])
        self._found["rollout"] = summary
        if not summary.valid:
            raise _EndedError("no_valid_attempts", f"none of {summary.asked} attempts is valid: {summary.invalid[0]}")
        if summary.solved == summary.valid:
            raise _EndedError("nothing_to_learn", f"all {summary.valid} valid attempts solved their task")
        return [
            minibatch
            for ordinal, batch in enumerate(batches)
            for minibatch in minibatches(batch, size=train.minibatch, seed=train.seed, step=plan.step, ordinal=ordinal)
        ]

    async def _propose(self, cut: Sequence[Minibatch]) -> tuple[Edit, ...]:
        """Reflect and merge."""
        optimizer, step = self.tools.optimizer, self.plan.step
        self._say("reflect", f"{len(cut)} minibatches")
        found = await Reflector(optimizer, self.skill, self.buffer, self.budget, step).reflect(cut)
        self._note((*found.errors, *found.notes), found.usage)
        self._found |= {"patterns": found.patterns, "patches": len(found.patches)}
        if len(found.errors) == found.asked:
            raise _EndedError("optimizer_error", f"no reply of the optimizer could be used: {found.errors[0]}")
        if not found.patches:
            raise _EndedError("no_edits", "the optimizer proposed no edit")
        self._say("merge", f"{len(found.patches)} patches")
        merged = await Merger(optimizer, self.skill, self.budget, self.tools.knobs.train.merge_batch, step).merge(
            found.patches
        )
        self._note(merged.notes, merged.usage)
        edits = merged.patch.edits if merged.patch else ()
        self._found["proposed"] = edits
        if not edits:
            raise _EndedError("no_edits", "merging left no edit")
        return edits

    async def _choose(self, edits: Sequence[Edit]) -> tuple[Edit, ...]:
        """Refuse what is not worth trying, then rank and clip."""
        reasons = [self._refusal(edit) for edit in edits]
        refused = tuple(RefusedEdit(edit=e, reason=r) for e, r in zip(edits, reasons, strict=True) if r)
        left = [edit for edit, reason in zip(edits, reasons, strict=True) if not reason]
        self._found["refused"] = refused
        if not left:
            raise _EndedError("no_change", f"every proposed edit was refused: {refused[0].reason}")
        self._say("rank", f"{len(left)} edits, budget {self.budget}")
        ranked = await rank(self.tools.optimizer, self.skill, left, budget=self.budget, step=self.plan.step)
        self._note(ranked.notes, ranked.usage)
        self._found["chosen"] = ranked.edits
        return ranked.edits

    def _refusal(self, edit: Edit) -> str:
        """Why this edit is not worth a place in the ranking; empty if it is.

        An edit that fails alone may be waiting for another one's text, so only a missing effect refuses it here.
        """
        if self.buffer.refuses(edit):
            return "already tried and rejected in this epoch"
        if holds_secret(edit.content):
            return "it carries a credential"
        [row] = apply(self.skill, [edit], self.tools.knobs.limits(self.budget)).report.rows
        return "it changes nothing" if row.status is EditStatus.NO_CHANGE else ""

    def _apply(self, chosen: Sequence[Edit]) -> Applied:
        candidate = apply(self.skill, chosen, self.tools.knobs.limits(self.budget))
        self._found |= {"report": candidate.report.rows, "candidate_digest": candidate.result.digest}
        if candidate.result.digest == self.skill.digest:
            rows = [f"{row.status} {row.detail}".strip() for row in candidate.report.rows if row.status != "applied"]
            raise _EndedError(
                "no_change", f"the edits leave the skill as it is: {'; '.join(rows) or 'they cancel out'}"
            )
        return candidate

    async def _gate(self, candidate: Applied) -> Verdict:
        selection = self.tools.selection
        self._say("gate", f"{len(candidate.stages)} edits, {len(selection.tasks)} selection tasks")
        before = await selection.results(self.skill)
        after = await selection.results(candidate.result)
        verdict = strict(before, after, selection.rule)
        self._found |= {"verdict": verdict, "measured": measured(after, selection.rule)}
        return verdict

    def _say(self, phase: str, detail: str) -> None:
        self.tools.observer.notify(PhaseStarted(self.plan.step, phase, detail))

    def _note(self, notes: Sequence[str], usage: Usage) -> None:
        self._notes += notes
        self._usage = self._usage + usage


def _summary(results: Sequence[TaskResult]) -> RolloutSummary:
    return RolloutSummary(
        asked=len(results),
        valid=sum(result.valid for result in results),
        solved=sum(result.solved for result in results),
        hard=mean(results, GateRule("hard")),
        soft=mean(results, GateRule("soft")),
        invalid=tuple(f"{r.task_id}: {r.record.outcome}" for r in results if not r.valid),
    )


def _in_words(verdict: Verdict) -> str:
    fixed = f"; fixed {', '.join(verdict.fixed)}" if verdict.fixed else ""
    broken = f"; broken {', '.join(verdict.broken)}" if verdict.broken else ""
    return f"{verdict.rule}{fixed}{broken}"
