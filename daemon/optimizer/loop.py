"""The training loop: baseline, steps, sealed test, report.

Durable by replay: a resumed run is the same code over the same journal. A decision that stands is read back and
folded like a new one; its candidate is worked out again and must come to the same digest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from daemon.budget.purse import OpenPurse, Purse
from daemon.budget.reached import BudgetReached
from daemon.journal.journal import Journal
from daemon.journal.records import Decision
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.baseline import measure_baseline
from daemon.optimizer.batches import StepPlan, plan_steps
from daemon.optimizer.commits import Committer
from daemon.optimizer.decision import StepDecision
from daemon.optimizer.gates.measure import Measured, Selection
from daemon.optimizer.opening import Opened, Opening
from daemon.optimizer.report import BeforeAfter, RunReport, edit_fates
from daemon.optimizer.schedule import edit_budget
from daemon.optimizer.sealed import SealedTest
from daemon.optimizer.settings import Fingerprint, Knobs, fingerprint
from daemon.optimizer.state import State
from daemon.optimizer.step import Step, Tools
from daemon.rollouts.progress import Observer, PhaseStarted, RunEnded, RunStarted, Silent, StepDecided
from daemon.rollouts.result import usage_of
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import TaskSet
from harnesses.models.client import ModelClient
from sandboxes.gateway.policy import Usage
from skills_repo.edits import MAX_EDITS, Applied, apply
from skills_repo.history import RefMovedError, SkillHistory
from skills_repo.skill import Skill


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
    """What may be spent; the one that `rollouts` ask."""

    async def run(self) -> RunReport:
        """Train to the end, or go on with the unfinished run of the same fingerprint.

        Raises `RunStopped` or `BudgetReached` (the run stays open and can go on), `RepositoryError`, `SkillError` or
        `JournalError`.
        """
        started = time.monotonic()
        self._check_splits()
        mark = self.fingerprint()
        opened = await Opening(self.journal, self.history, self.skill, self.clock).open(mark)
        run_id = opened.run.run_id
        await self.purse.begin_run(run_id)
        try:
            report = await _Loop(self, opened, mark, started).run()
        except RefMovedError as error:
            await self.journal.end_run(run_id, "failed")
            self.observer.notify(RunEnded(run_id, "failed", str(error)))
            msg = f"{error}: run `honed train` again, what is paid for is kept"
            raise RunStopped(msg) from error
        except (RunStopped, BudgetReached) as stop:
            self.observer.notify(RunEnded(run_id, "failed", str(stop)))
            raise
        await self.journal.end_run(run_id, "done")
        self.observer.notify(RunEnded(run_id, "done", report.ended))
        return report

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

    def __init__(self, training: Training, opened: Opened, mark: Fingerprint, started: float) -> None:
        self._training = training
        self._run = opened.run
        self._resumed = opened.resumed
        self._mark = mark
        self._started = started
        self._head = opened.head
        self._commits: dict[int, tuple[str, ...]] = {}
        train, run_id = training.knobs.train, opened.run.run_id
        ids = [task.id for task in training.tasks.split("train")]
        self._plans = plan_steps(
            ids, epochs=train.epochs, batch=train.batch, accumulation=train.accumulation, seed=train.seed
        )
        self._tools = Tools(
            run_id=run_id,
            rollouts=training.rollouts,
            optimizer=Optimizer(
                training.client,
                training.journal,
                run_id,
                max_output_tokens=training.knobs.max_output_tokens,
                temperature=training.knobs.temperature,
                workers=training.knobs.optimizer_workers,
                purse=training.purse,
            ),
            selection=Selection(training.rollouts, training.tasks.split("selection"), run_id, training.knobs.gate),
            train={task.id: task for task in training.tasks.split("train")},
            knobs=training.knobs,
            observer=training.observer,
            clock=training.clock,
        )
        self._committer = Committer(
            training.history,
            run_id,
            training.knobs.gate,
            target=training.rollouts.label,
            optimizer=f"{training.client.provider} / {training.client.model}",
        )

    async def run(self) -> RunReport:
        """Baseline, steps, sealed test."""
        training = self._training
        sizes = training.tasks.sizes()
        training.observer.notify(
            RunStarted(
                run_id=self._run.run_id,
                skill=training.skill,
                resumed=self._resumed,
                steps=len(self._plans),
                train=sizes["train"],
                selection=sizes["selection"],
                test=sizes["test"],
            )
        )
        initial = await training.history.read(self._run.base_commit)
        baseline, score = await measure_baseline(self._tools, training.journal, initial, self._mark.parts)
        state = State.initial(initial, baseline, score)
        ended = f"{len(self._plans)} of {len(self._plans)} steps are done"
        for plan in self._plans:
            if state.score >= 1.0 and state.complete:
                ended = f"after step {plan.step - 1} the selection score is 1.0: a strict gate can find nothing better"
                break
            state = await self._step(plan, state)
        test = await self._test(initial, state.best)
        return await self._report(state, baseline, test, ended)

    async def _step(self, plan: StepPlan, state: State) -> State:
        decision, replayed = await self._decision(plan, state)
        candidate = None
        if decision.outcome == "accepted":
            candidate = self._candidate(decision, state.skill)
            if not replayed:
                self._say(PhaseStarted(plan.step, "commit", f"{len(candidate.stages)} edits"))
            commits = await self._committer.commit(self._head, state.skill, decision, candidate)
            await self._note_commits(plan.step, commits)
            self._commits[plan.step] = commits
            self._head = commits[-1]
        self._say(_decided(decision, len(self._plans), replayed=replayed))
        return state.after(decision, candidate.result if candidate else None)

    async def _decision(self, plan: StepPlan, state: State) -> tuple[StepDecision, bool]:
        """The step's decision, read back or made now and journaled."""
        run_id, journal, train = self._run.run_id, self._training.journal, self._training.knobs.train
        found = await journal.find_decision(run_id, plan.step, "step")
        if found is not None:
            return StepDecision.model_validate(found.payload), True
        budget = edit_budget(
            train.schedule, plan.step, len(self._plans), most=train.edit_budget, least=train.min_edit_budget
        )
        budget = MAX_EDITS if budget is None else budget
        decision = await Step(self._tools, plan, state.skill, state.buffer.at(plan.epoch), budget).run()
        await journal.save_decision(Decision(run_id, plan.step, "step", decision.payload()))
        return decision, False

    async def _note_commits(self, step: int, commits: tuple[str, ...]) -> None:
        """Remember that they were made: where they are missing later, a person has taken them back."""
        run_id, journal = self._run.run_id, self._training.journal
        if await journal.find_decision(run_id, step, "commits") is None:
            await journal.save_decision(Decision(run_id, step, "commits", {"commits": list(commits)}))

    def _candidate(self, decision: StepDecision, skill: Skill) -> Applied:
        """The accepted skill, worked out again."""
        candidate = apply(skill, decision.chosen, self._training.knobs.limits(decision.budget))
        if skill.digest != decision.base_digest or candidate.result.digest != decision.candidate_digest:
            msg = (
                f"step {decision.step} of run {self._run.run_id} does not come to the same skill again:"
                " was honed changed since? Move its state folder away to start anew"
            )
            raise RunStopped(msg)
        return candidate

    async def _test(self, initial: Skill, best: Skill) -> BeforeAfter:
        training = self._training
        count = training.tasks.sizes()["test"]
        if not count:
            return BeforeAfter(None, None)
        self._say(PhaseStarted(0, "test", f"{count} sealed tasks"))
        sealed = SealedTest(
            training.journal,
            training.rollouts,
            training.tasks,
            training.knobs.gate,
            self._run.run_id,
            step=len(self._plans) + 1,
        )
        return BeforeAfter(*await sealed.report(initial, best, training.clock))

    async def _report(self, state: State, baseline: Measured, test: BeforeAfter, ended: str) -> RunReport:
        attempts = await self._training.journal.attempts(self._run.run_id)
        return RunReport(
            run_id=self._run.run_id,
            skill=self._training.skill,
            resumed=self._resumed,
            ended=ended,
            metric=self._training.knobs.train.gate_metric,
            selection=BeforeAfter(baseline, state.best_measured),
            test=test,
            steps=state.steps,
            edits=edit_fates(state.steps, self._commits),
            commits=tuple(commit for step in sorted(self._commits) for commit in self._commits[step]),
            base_commit=self._run.base_commit,
            best_digest=state.best.digest,
            target_usage=sum((usage_of(record) for record in attempts), Usage()),
            optimizer_usage=sum((step.optimizer_usage for step in state.steps), Usage()),
            attempts=len(attempts),
            invalid=sum(record.score is None for record in attempts),
            wall_s=time.monotonic() - self._started,
        )

    def _say(self, event: PhaseStarted | RunStarted | StepDecided) -> None:
        self._training.observer.notify(event)


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
    )
