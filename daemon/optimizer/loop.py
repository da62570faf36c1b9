"""The training loop: baseline, epochs of steps with a slow update at their end, sealed test, report.

Durable by replay: a resumed run is the same code over the same journal. A decision that stands is read back and
folded like a new one; its candidate is worked out again and must come to the same digest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

import structlog

from daemon import __version__
from daemon.budget.purse import OpenPurse, Purse
from daemon.journal.journal import Journal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.baseline import measure_baseline
from daemon.optimizer.batches import StepPlan, plan_steps
from daemon.optimizer.beside import Beside
from daemon.optimizer.broken_off import broken_off
from daemon.optimizer.commits import Committer, phase_of
from daemon.optimizer.decision import Judged, MetaSkillDecision, SlowUpdateDecision, StepDecision
from daemon.optimizer.ending import Ending
from daemon.optimizer.epoch import EpochEnd
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.gates.gate import make_gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.opening import COMMITS_OF, Opened, Opening
from daemon.optimizer.people import People, as_earlier_step
from daemon.optimizer.real_use import Evidence, RealUse
from daemon.optimizer.refusals import Refusals
from daemon.optimizer.report import RunReport
from daemon.optimizer.report_note import note_of
from daemon.optimizer.reporting import Reporter
from daemon.optimizer.schedule import edit_budget
from daemon.optimizer.settings import Fingerprint, Knobs, fingerprint
from daemon.optimizer.state import State
from daemon.optimizer.step import Step, limits_of
from daemon.optimizer.tools import Tools
from daemon.optimizer.wording import counted
from daemon.rollouts.progress import (
    Event,
    Observer,
    PhaseStarted,
    RunEnded,
    RunStarted,
    Silent,
    SlowUpdateDecided,
    StepDecided,
)
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import Task, TaskSet
from harnesses.models.client import ModelClient
from skills_repo.edits import Applied, EditLimits, apply
from skills_repo.followed import Followed
from skills_repo.history import RefMovedError, SkillHistory
from skills_repo.skill import Skill

log = structlog.get_logger(__name__)

D = TypeVar("D", StepDecision, SlowUpdateDecision, MetaSkillDecision)


@dataclass(frozen=True)
class Training:
    """Everything a training run needs. `run` may be called again after a crash: it goes on."""

    rollouts: Rollouts
    client: ModelClient
    """The optimizer model."""
    journal: Journal
    history: SkillHistory
    tasks: TaskSet
    skill: str
    """The skill's key in the journal: its path in the repository."""
    knobs: Knobs = field(default_factory=Knobs)
    observer: Observer = field(default_factory=Silent)
    clock: Callable[[], float] = time.time
    purse: Purse = field(default_factory=OpenPurse)
    followed: Followed | None = None
    """What led the branch to where it is, if honed moved it onto a person's version: journaled with a new run."""
    beside: Beside = field(default_factory=Beside)
    """What the run reads of its repository, and leaves there, besides commits on the branch."""

    async def run(self) -> RunReport:
        """Train to the end, or go on with the unfinished run of the same fingerprint.

        Raises `RunStopped` and `BudgetReached` (the run stays open and can go on), `RepositoryError`, `SkillError` or
        `JournalError`.
        """
        started = time.monotonic()
        self._check_splits()
        mark = self.fingerprint()
        opened = await self._opening.open(mark)
        run_id = opened.run.run_id
        await self.purse.begin_run(run_id)
        try:
            report = await self._to_the_end(opened, mark, started)
        except (Exception, asyncio.CancelledError) as error:
            self.observer.notify(broken_off(run_id, error))
            if isinstance(error, RefMovedError):
                # Not ended: if the skill is left as it was, the same run goes on above what others committed.
                msg = f"{error}: run `honed train` again, what is paid for is kept"
                raise RunStopped(msg) from error
            raise
        self.observer.notify(RunEnded(run_id, "failed" if report.failed else "done", report.ended))
        return report

    async def _to_the_end(self, opened: Opened, mark: Fingerprint, started: float) -> RunReport:
        firewall = await asyncio.to_thread(Firewall.of, self.tasks)
        if firewall.left_out:
            log.warning("large task files are searched for leaks in part alone", files=firewall.left_out)
        evidence = Evidence(self.journal, self.history, firewall, self.beside.sessions)
        real_use = await evidence.of(opened.run)
        refusals = await self._refusals(firewall, opened.run)
        report = await _Loop(self, refusals, opened, mark, started, real_use=real_use).run()
        await self.beside.end(*note_of(report, self.rollouts, self.client, self.tasks), self.clock())
        await self.journal.end_run(opened.run.run_id, "failed" if report.failed else "done")
        return report

    async def _refusals(self, firewall: Firewall, run: RunRecord) -> Refusals:
        """The guards, and what people turned down by then."""
        people = People(self.journal, self.history, firewall, self.beside.rejected)
        taken_back = await people.of(run, self.tasks.split("train"))
        return Refusals(
            firewall, repeats=self.knobs.train.refuse_rejected, taken_back=taken_back, risks=self.knobs.risks
        )

    async def unfinished(self) -> bool:
        """There is a run to go on with; what people committed on HEAD meanwhile waits for the next one."""
        return await self._opening.unfinished(self.fingerprint())

    @property
    def _opening(self) -> Opening:
        return Opening(self.journal, self.history, self.skill, self.clock, self.followed)

    def fingerprint(self) -> Fingerprint:
        """What decides this run besides the skill."""
        optimizer = {
            "provider": self.client.provider,
            "model": self.client.model,
            "host": self.knobs.optimizer_host,
            "temperature": str(self.knobs.temperature),
            "max_output_tokens": str(self.knobs.max_output_tokens),
        }
        target = self.rollouts.settings
        return fingerprint(self.knobs, self.tasks, target, harness=self.rollouts.harness, optimizer=optimizer)

    def _check_splits(self) -> None:
        for name in ("train", "selection"):
            if not self.tasks.split(name):
                msg = f"{self.tasks.source}: the {name} split is empty: give tasks a split or change [tasks] split"
                raise RunStopped(msg)


class _Loop:
    """One pass through a run, live or replayed."""

    def __init__(
        self,
        training: Training,
        refusals: Refusals,
        opened: Opened,
        mark: Fingerprint,
        started: float,
        *,
        real_use: RealUse | None,
    ) -> None:
        self._training = training
        self._run = opened.run
        self._mark = mark
        self._head = opened.head
        self._tip = opened.run.base_commit
        """The newest commit that holds the current skill: the run's base, or one of its own."""
        self._start: Skill | None = None
        """A given skill that the branch does not hold yet."""
        self._commits: dict[tuple[int, str], tuple[str, ...]] = {}
        train = training.knobs.train
        ids = [task.id for task in training.tasks.split("train")]
        self._plans = plan_steps(
            ids, epochs=train.epochs, batch=train.batch, accumulation=train.accumulation, seed=train.seed
        )
        self._tools = replace(_tools(training, refusals, opened.run.run_id), real_use=real_use)
        self._committer = Committer(
            training.history,
            opened.run.run_id,
            f"{train.gate}/{train.gate_metric}",
            target=training.rollouts.label,
            optimizer=f"{training.client.provider} / {training.client.model} (honed {__version__})",
            selection=len(training.tasks.split("selection")),
            risks=self._tools.knobs.risks,
        )
        self._reporter = Reporter(
            self._tools, training.journal, training.tasks, opened, started=started, steps=len(self._plans)
        )

    async def run(self) -> RunReport:
        """Baseline, steps, sealed test."""
        self._say(self._started())
        convention = await self._training.beside.convention(self._run.base_commit)
        self._committer = replace(self._committer, convention=convention)
        initial = await self._initial()
        baseline = await measure_baseline(self._tools, self._training.journal, initial, self._mark.parts)
        told = as_earlier_step(self._tools.refusals.taken_back)
        state = State.initial(initial, baseline, told)
        ending = Ending(self._plans, gated=self._training.knobs.train.gate != "off")
        for plan in self._plans:
            if ending.before(plan, state):
                break
            state = await self._step(plan, state)
            if ending.useless(state) or ending.perfect(state):
                break
            if plan.last_of_epoch:
                state = await self._epoch_end(plan, state)
        await self._training.purse.begin_step(0)
        return await self._reporter.report(state, initial, baseline, ending.of(state), self._commits)

    async def _initial(self) -> Skill:
        """What the run starts from: the skill as it is at the run's base, or the given one."""
        given = self._training.knobs.initial
        if given is None:
            return await self._training.history.read(self._run.base_commit)
        found = await self._training.history.find_step(self._run.run_id, 0, "initial")
        there = (await self._training.history.read(self._head)).digest == given.digest
        self._start = None if found or there else given
        return given

    async def _step(self, plan: StepPlan, state: State) -> State:
        await self._training.purse.begin_step(plan.step)
        found = await self._find(plan.step, "step", StepDecision)
        decision = found or await self._keep("step", await self._decide(plan, state))
        candidate = await self._commit(state, decision, limits_of(self._training.knobs, decision.budget))
        commits = self._commits.get((plan.step, "step"), ())
        self._say(replace(_decided(decision, len(self._plans), replayed=found is not None), commits=commits))
        return state.after_step(decision, candidate)

    async def _epoch_end(self, plan: StepPlan, state: State) -> State:
        """The slow update and the optimizer's notes, from the second epoch on: part of no step's budget."""
        await self._training.purse.begin_step(0)
        if plan.epoch > 1:
            slow = await self._find(plan.step, "slow_update", SlowUpdateDecision)
            notes = await self._find(plan.step, "meta_skill", MetaSkillDecision)
            end = EpochEnd(self._tools, plan, state, last=plan.step == len(self._plans))
            made = await end.run(slow, notes)
            if made.slow_update is not None:
                if slow is None:
                    await self._keep("slow_update", made.slow_update)
                candidate = await self._commit(state, made.slow_update, self._training.knobs.slow_update_limits)
                commits = self._commits.get((plan.step, "slow_update"), ())
                self._say(replace(_slow_update_decided(made.slow_update, replayed=slow is not None), commits=commits))
                state = state.after_slow_update(made.slow_update, candidate)
            if made.meta_skill is not None:
                if notes is None:
                    await self._keep("meta_skill", made.meta_skill)
                state = state.after_meta_skill(made.meta_skill)
        return state.after_epoch()

    async def _decide(self, plan: StepPlan, state: State) -> StepDecision:
        train, total = self._training.knobs.train, len(self._plans)
        budget = edit_budget(train.schedule, plan.step, total, most=train.edit_budget, least=train.min_edit_budget)
        return await Step(self._tools, plan, state, budget, total).run()

    async def _find(self, step: int, kind: str, model: type[D]) -> D | None:
        found = await self._training.journal.find_decision(self._run.run_id, step, kind)
        return None if found is None else model.model_validate(found.payload)

    async def _keep(self, kind: str, decision: D) -> D:
        await self._training.journal.save_decision(Decision(self._run.run_id, decision.step, kind, decision.payload()))
        return decision

    async def _commit(self, state: State, decision: Judged, limits: EditLimits) -> Skill | None:
        """Commit an accepted candidate, worked out again; None for any other."""
        if decision.outcome == "rejected":
            await self._keep_rejected(state, decision, limits)
        if decision.outcome != "accepted":
            return None
        applied = self._candidate(state.skill, decision, limits)
        phase = phase_of(decision)
        commits = await self._committer.find(decision)
        if not commits:
            self._say(PhaseStarted(decision.step, "commit", counted(len(applied.stages), "edit")))
            commits = await self._committer.commit(self._head, state.skill, decision, applied, start=self._start)
            self._head = commits[-1]  # commits found are below the head: others may have added some beside the skill
        self._start = None
        await self._note_commits(decision.step, COMMITS_OF[phase], commits)
        self._commits[decision.step, phase] = commits
        self._tip = commits[-1]
        return applied.result

    async def _keep_rejected(self, state: State, decision: Judged, limits: EditLimits) -> None:
        """Beside the branch, on top of the commit that it was tried on."""
        if self._training.beside.rejected is None:
            return
        phase = "" if phase_of(decision) == "step" else f".{phase_of(decision)}"
        candidate = self._candidate(state.skill, decision, limits)
        changes = self._committer.changes(state.skill, decision, candidate, start=self._start)
        name = f"{self._run.run_id}.{decision.step}{phase}"
        await self._training.beside.reject(name, self._tip, changes, decision.when)

    async def _note_commits(self, step: int, kind: str, commits: tuple[str, ...]) -> None:
        """Remember that they were made: where they are missing later, a person has taken them back."""
        run_id, journal = self._run.run_id, self._training.journal
        if await journal.find_decision(run_id, step, kind) is None:
            await journal.save_decision(Decision(run_id, step, kind, {"commits": list(commits)}))

    def _candidate(self, skill: Skill, decision: Judged, limits: EditLimits) -> Applied:
        candidate = apply(skill, decision.chosen, limits)
        if skill.digest != decision.base_digest or candidate.result.digest != decision.candidate_digest:
            msg = (
                f"step {decision.step} of run {self._run.run_id} does not come to the same skill again:"
                " was honed changed since? Move its state folder away to start anew"
            )
            raise RunStopped(msg)
        return candidate

    def _started(self) -> RunStarted:
        sizes = self._training.tasks.sizes()
        return RunStarted(
            run_id=self._run.run_id,
            skill=self._training.skill,
            resumed=self._reporter.resumed,
            steps=len(self._plans),
            train=sizes["train"],
            selection=sizes["selection"],
            test=sizes["test"],
        )

    def _say(self, event: Event) -> None:
        self._training.observer.notify(event)


def _tools(training: Training, refusals: Refusals, run_id: str) -> Tools:
    knobs = training.knobs
    return Tools(
        run_id=run_id,
        rollouts=training.rollouts,
        optimizer=Optimizer(
            training.client,
            training.journal,
            run_id,
            max_output_tokens=knobs.max_output_tokens,
            temperature=knobs.temperature,
            workers=knobs.optimizer_workers,
            purse=training.purse,
        ),
        selection=Selection(training.rollouts, _selection(training.tasks), run_id, knobs.gate),
        gate=make_gate(knobs.train),
        firewall=refusals.firewall,
        refusals=refusals,
        train={task.id: task for task in training.tasks.split("train")},
        knobs=knobs,
        observer=training.observer,
        clock=training.clock,
    )


def _decided(decision: StepDecision, steps: int, *, replayed: bool) -> StepDecided:
    verdict = decision.verdict
    return StepDecided(
        step=decision.step,
        steps=steps,
        outcome=decision.outcome,
        reason=decision.reason,
        before=verdict.before if verdict else None,
        after=verdict.after if verdict else None,
        edits=len(decision.applied),
        replayed=replayed,
        flagged=decision.flagged,
    )


def _slow_update_decided(decision: SlowUpdateDecision, *, replayed: bool) -> SlowUpdateDecided:
    verdict = decision.verdict
    return SlowUpdateDecided(
        step=decision.step,
        epoch=decision.epoch,
        outcome=decision.outcome,
        reason=decision.reason,
        before=verdict.before if verdict else None,
        after=verdict.after if verdict else None,
        replayed=replayed,
        flagged=decision.flagged,
    )


def _selection(tasks: TaskSet) -> tuple[Task, ...]:
    """The selection split. A group that train lacks is held-out text, so no figure is told under its name."""
    known = {task.group for task in tasks.split("train")}
    return tuple(task if task.group in known else replace(task, group="") for task in tasks.split("selection"))
