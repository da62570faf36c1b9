"""One step: rollout and reflection, update, apply, gate. It ends in a decision; committing is the loop's.

Every way out has a name and a sentence. Nothing here looks at the test split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.budget.reached import BudgetReached
from daemon.optimizer.batches import StepPlan
from daemon.optimizer.decision import RefusedEdit, RolloutSummary, StepDecision, StepOutcome
from daemon.optimizer.gates.attribution import attribute
from daemon.optimizer.gates.rule import GateRule, mean
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.learning import Learning
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.reflect import Reflection, Reflector
from daemon.optimizer.replies import Pattern
from daemon.optimizer.settings import Knobs
from daemon.optimizer.skill_files import SkillFiles
from daemon.optimizer.spending import Spending
from daemon.optimizer.state import State
from daemon.optimizer.tools import EndedError, Tools
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.mode import UpdateContext, UpdateMode
from daemon.optimizer.updates.modes import MODES
from daemon.optimizer.updates.reask import repaired
from daemon.optimizer.wording import counted
from daemon.redaction import redact
from daemon.rollouts.progress import PhaseStarted
from daemon.rollouts.result import TaskResult
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Applied, Edit, EditLimits, apply


def limits_of(knobs: Knobs, budget: int | None) -> EditLimits:
    """What a step's edits are applied within, when it decides and whenever its candidate is worked out again."""
    return MODES[knobs.train.update_mode].limits(knobs.limits(budget))


@dataclass
class Step:
    """One step in the making, under the current skill."""

    tools: Tools
    plan: StepPlan
    state: State
    budget: int | None
    """Most edits; None: unbounded. An autonomous schedule may lower it."""
    total: int
    """Steps of the run."""
    _found: dict[str, Any] = field(default_factory=dict)
    """Fields of the decision, as the phases find them."""
    _notes: list[str] = field(default_factory=list)
    _usage: Usage = field(default_factory=Usage)
    _spending: Spending = field(default_factory=Spending)

    async def run(self) -> StepDecision:
        """Work the step out.

        Raises `RunStopped` if a provider or an engine is beyond help, `BudgetReached` for the run's or the day's cap.
        """
        try:
            reflection = await self._learn()
            chosen = await self._propose(reflection)
            candidate = await self._apply(chosen)
            verdict = await self._gate(candidate)
        except EndedError as ended:
            return self._decide(ended.outcome, ended.reason)
        except BudgetReached as reached:
            if reached.scope != "step":
                raise
            return self._decide("budget", str(reached))
        return self._decide(verdict.ruling, in_words(verdict))

    @property
    def _mode(self) -> UpdateMode:
        return MODES[self.tools.knobs.train.update_mode]

    @property
    def _buffer(self) -> StepBuffer:
        """What reflection may read of the epoch so far, and of what people took back."""
        train, buffer = self.tools.knobs.train, self.state.buffer.at(self.plan.epoch)
        if not train.rejected_buffer:
            return StepBuffer(self.plan.epoch, standing=buffer.standing)
        return buffer if train.buffer_groups else buffer.without_groups

    def _limits(self, budget: int | None) -> EditLimits:
        return limits_of(self.tools.knobs, budget)

    def _decide(self, outcome: StepOutcome, reason: str) -> StepDecision:
        found = {"rollout": RolloutSummary(), "budget": self._mode.budget(self.budget), **self._found}
        return StepDecision(
            step=self.plan.step,
            epoch=self.plan.epoch,
            when=self.tools.clock(),
            outcome=outcome,
            reason=reason,
            batches=self.plan.batches,
            base_digest=self.state.skill.digest,
            notes=tuple(self._notes),
            optimizer_usage=self._usage,
            attempts=self._spending.attempts,
            target_usage=self._spending.usage,
            **found,
        )

    async def _learn(self) -> Reflection:
        """Attempt the batches and reflect on what comes of them."""
        tools, plan, knobs = self.tools, self.plan, self.tools.knobs
        self._say("rollout", f"{counted(sum(map(len, plan.batches)), 'train task')}, reflection as they end")
        reflector = Reflector(
            tools.optimizer,
            self.state.skill,
            self._buffer,
            self._mode.budget(self.budget),
            plan.step,
            meta_skill=self.state.meta_skill,
            outgoing=tools.firewall.outgoing,
            trace_tokens=knobs.train.trace_tokens,
            form=self._mode.form,
            files=SkillFiles.of(self.state.skill, self._limits(self._mode.budget(self.budget))),
            real_use=tools.real_use,
        )
        learned = await Learning(
            tools.rollouts, reflector, self.state.skill, plan, tools.train, knobs, tools.run_id
        ).run()
        self._spending.add(learned.results)
        summary = _summary(learned.results)
        self._found["rollout"] = summary
        if not summary.valid:
            raise EndedError("no_valid_attempts", f"none of {summary.asked} attempts is valid: {summary.invalid[0]}")
        if summary.solved == summary.valid:
            raise EndedError("nothing_to_learn", f"all {summary.valid} valid attempts solved their task")
        found = reflector.gather(learned.cut, learned.answers)
        self._note((*found.errors, *found.notes), found.usage)
        self._found |= {"patterns": tuple(map(self._screened, found.patterns)), "patches": len(found.patches)}
        self._found["minibatches"] = tuple((one.place, one.ids) for one in learned.cut)
        if len(found.errors) == found.asked:
            raise EndedError("optimizer_error", f"no reply of the optimizer could be used: {found.errors[0]}")
        if not found.patches:
            unread = f" ({len(found.errors)} of {found.asked} replies could not be used)" if found.errors else ""
            raise EndedError("no_edits", f"the optimizer proposed no edit{unread}")
        return found

    async def _propose(self, reflection: Reflection) -> tuple[Edit, ...]:
        """Merge, refuse, rank, and where the mode rewrites, write."""
        tools, train = self.tools, self.tools.knobs.train
        limits = self._limits(self._mode.budget(self.budget))
        picks = train.schedule == "autonomous"
        rate = LearningRate(train.min_edit_budget, train.edit_budget, self.total) if picks else None
        proposal = await self._mode.propose(
            reflection.patches,
            UpdateContext(
                optimizer=tools.optimizer,
                skill=self.state.skill,
                buffer=self._buffer,
                step=self.plan.step,
                merge_batch=train.merge_batch,
                limits=limits,
                learning_rate=rate,
                meta_skill=self.state.meta_skill,
                refuse=lambda edit: self._refusal(edit, limits),
                say=self._say,
            ),
        )
        proposal = proposal.reworded(self._remark)
        self._note(proposal.notes, proposal.usage)
        self._found |= {
            "proposed": proposal.proposed,
            "chosen": proposal.chosen,
            "budget": proposal.budget,
            "record": dict(proposal.record),
        }
        self._refuse(proposal.refused)
        if not proposal.chosen:
            outcome: StepOutcome = "no_change" if proposal.refused else "no_edits"
            raise EndedError(outcome, proposal.reason)
        return proposal.chosen

    def _remark(self, text: str) -> str:
        """What the optimizer says beside its edits, as commits and later prompts may have it."""
        return self.tools.refusals.remark(text, self.state.skill)

    def _screened(self, pattern: Pattern) -> Pattern:
        said = {key: self._remark(getattr(pattern, key)) for key in ("type", "description")}
        return pattern.model_copy(update=said)

    def _refusal(self, edit: Edit, limits: EditLimits) -> str:
        return self.tools.refusals.edit(edit, self.state.skill, limits, self.state.rejected)

    def _refuse(self, rows: Sequence[tuple[Edit, str]]) -> None:
        known = self._found.get("refused", ())
        self._found["refused"] = (*known, *(RefusedEdit(edit=edit, reason=reason) for edit, reason in rows))

    async def _apply(self, chosen: Sequence[Edit]) -> Applied:
        """Apply; edits that miss their anchor are asked for once more, and judged by the same guards again."""
        skill, limits = self.state.skill, self._limits(self._found["budget"])
        mended = await repaired(self.tools.optimizer, skill, chosen, limits, f"{self.plan.step}/repair/0")
        self._note(mended.notes, mended.usage)
        self._found["proposed"] = mended.among(self._found["proposed"], chosen)
        reasons = [(edit, "" if edit in chosen else self._refusal(edit, limits)) for edit in mended.edits]
        self._refuse([row for row in reasons if row[1]])
        edits = tuple(edit for edit, reason in reasons if not reason)
        candidate = apply(skill, edits, limits)
        digest = candidate.result.digest
        self._found |= {"chosen": edits, "report": candidate.report.rows, "candidate_digest": digest}
        if digest == skill.digest:
            rows = [f"{row.status} {row.detail}".strip() for row in candidate.report.rows if row.status != "applied"]
            rows += [f"refused {reason}" for _, reason in reasons if reason]
            raise EndedError("no_change", f"the edits leave the skill as it is: {'; '.join(rows) or 'they cancel out'}")
        if reason := self.tools.refusals.candidate(skill, candidate.result, self.state.rejected):
            raise EndedError("no_change", reason)
        self._found["flagged"] = self._flags(candidate)
        return candidate

    def _flags(self, candidate: Applied) -> tuple[str, ...]:
        return tuple(map(redact, self.tools.knobs.risks.flags(self.state.skill, candidate.result)))

    async def _gate(self, candidate: Applied) -> Verdict:
        base, selection = self.state.current, self.tools.selection
        edits = len(candidate.stages)
        self._say("gate", f"{counted(edits, 'edit')}, {counted(len(selection.tasks), 'selection task')}")
        selection.begin()
        verdict = await self.tools.gate.judge(base.skill, candidate.result, selection, base.pool)
        self._found["verdict"] = verdict
        if verdict.ruling == "accepted" and self.tools.knobs.train.attribution and edits > 1:
            verdict = await self._attribute(candidate, verdict)
        self._spending.add(selection.used((base.skill.digest, base.pool.trials)))
        return verdict

    async def _attribute(self, candidate: Applied, verdict: Verdict) -> Verdict:
        """Drop what carries nothing, and note what each edit carries."""
        base, limits = self.state.skill, self._limits(self._found["budget"])
        self._say("attribution", f"{counted(len(candidate.stages), 'edit')}, each left out once")
        judge, selection = self.tools.gate.judge, self.tools.selection
        try:
            found = await attribute(judge, base, candidate, verdict, selection, limits=limits)
        except BudgetReached as reached:
            if reached.scope != "step":
                raise
            # The candidate holds as a whole: what is unknown is only what each edit carries.
            self._note([f"attribution: nothing is dropped: {reached}"], Usage())
            return verdict
        self._note([f"attribution: {found.reason}"], Usage())
        if found.dropped:
            given = candidate.report.applied
            dropped = [given[position] for position in found.dropped]
            self._refuse([(edit, "it carries nothing: the skill scores no less without it") for edit in dropped])
            missed = (row for row in candidate.report.rows if row.status != "applied")
            self._found |= {
                "chosen": found.applied.report.applied,
                "report": (*found.applied.report.rows, *missed),
            }
            self._found["candidate_digest"] = found.applied.result.digest
            self._found["flagged"] = self._flags(found.applied)
        self._found |= {"verdict": found.verdict, "shares": found.shares}
        return found.verdict

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


def in_words(verdict: Verdict) -> str:
    """A verdict in one line: the rule with its figures, and the tasks that changed."""
    fixed = f"; fixed {', '.join(verdict.fixed)}" if verdict.fixed else ""
    broken = f"; broken {', '.join(verdict.broken)}" if verdict.broken else ""
    return f"{verdict.rule}{fixed}{broken}"
