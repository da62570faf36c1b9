"""From a finished run to its report: the selection split in pairs, the sealed test, every edit's fate, costs."""

from __future__ import annotations

import time

from daemon.budget.totals import seconds
from daemon.journal.journal import Journal
from daemon.journal.records import Decision
from daemon.optimizer.decision import BaselineDecision, ReportDecision
from daemon.optimizer.opening import Opened
from daemon.optimizer.report import BeforeAfter, Commits, RunReport, edit_fates, guidance_fates
from daemon.optimizer.sealed import SealedTest
from daemon.optimizer.state import State
from daemon.optimizer.tools import Tools
from daemon.rollouts.progress import PhaseStarted
from daemon.rollouts.result import usage_of
from daemon.tasks.task import TaskSet
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill

REPORT = "report"
"""The kind of the decision that keeps a run's report."""


class Reporter:
    """Reports one run."""

    def __init__(
        self,
        tools: Tools,
        journal: Journal,
        tasks: TaskSet,
        opened: Opened,
        *,
        started: float,
        steps: int,
    ) -> None:
        self._tools = tools
        self._journal = journal
        self._tasks = tasks
        self._run = opened.run
        self._started = started
        self._steps = steps
        self.resumed = opened.resumed

    async def report(
        self,
        state: State,
        initial: Skill,
        baseline: BaselineDecision,
        ending: tuple[str, bool],
        commits: Commits,
    ) -> RunReport:
        """Measure what a report needs, then say it all. A failed run that changed nothing opens no test split."""
        ended, failed = ending
        selection = await self._selection(state, initial, baseline)
        unchanged = failed and state.best.skill.digest == initial.digest
        test = BeforeAfter(None, None) if unchanged else await self._test(initial, state.best.skill)
        attempts = await self._journal.attempts(self._run.run_id)
        replies = await self._journal.replies(self._run.run_id)
        await self._note(
            ReportDecision(
                when=self._tools.clock(),
                ended=ended,
                failed=failed,
                metric=self._tools.knobs.train.gate_metric,
                before=selection.before,
                after=selection.after,
                best_digest=state.best.skill.digest,
                current_is_best=state.skill.digest == state.best.skill.digest,
            )
        )
        worked = seconds(await self._journal.spans(run_id=self._run.run_id))
        return RunReport(
            run_id=self._run.run_id,
            skill=self._run.skill,
            resumed=self.resumed,
            ended=ended,
            failed=failed,
            metric=self._tools.knobs.train.gate_metric,
            selection=selection,
            test=test,
            steps=state.steps,
            edits=(*edit_fates(state.steps, commits), *guidance_fates(state.slow_updates, commits)),
            commits=in_order(commits),
            base_commit=self._run.base_commit,
            best_digest=state.best.skill.digest,
            current_is_best=state.skill.digest == state.best.skill.digest,
            target_usage=sum((usage_of(record) for record in attempts), Usage()),
            optimizer_usage=sum((Usage(**row.reply["usage"]) for row in replies), Usage()),
            attempts=len(attempts),
            invalid=sum(record.score is None for record in attempts),
            wall_s=max(worked, time.monotonic() - self._started),
        )

    async def _note(self, report: ReportDecision) -> None:
        """Keep it for whoever reads the run back; one that was kept before it was killed stands."""
        place = (self._run.run_id, self._steps + 1, REPORT)
        if await self._journal.find_decision(*place) is None:
            await self._journal.save_decision(Decision(*place, report.payload()))

    async def _selection(self, state: State, initial: Skill, baseline: BaselineDecision) -> BeforeAfter:
        if self._tools.knobs.train.gate == "off":
            return BeforeAfter(None, None)
        best = state.best
        self._tools.observer.notify(PhaseStarted(0, "report", "selection split, before and after"))
        # The same skill has the same trials: those added to its pool since are no change of it.
        pool = best.pool if best.skill.digest == initial.digest else baseline.pool
        before, after = await self._tools.gate.report((initial, pool), (best.skill, best.pool), self._tools.selection)
        return BeforeAfter(before, after)

    async def _test(self, initial: Skill, best: Skill) -> BeforeAfter:
        count = self._tasks.sizes()["test"]
        if not count:
            return BeforeAfter(None, None)
        self._tools.observer.notify(PhaseStarted(0, "test", f"{count} sealed tasks"))
        sealed = SealedTest(
            self._journal,
            self._tools.rollouts,
            self._tasks,
            self._tools.knobs.gate,
            self._run.run_id,
            step=self._steps + 1,
        )
        return BeforeAfter(*await sealed.report(initial, best, self._tools.clock))


def in_order(commits: Commits) -> tuple[str, ...]:
    """All commits of a run, oldest first."""
    return tuple(commit for place in sorted(commits, key=_order) for commit in commits[place])


def _order(place: tuple[int, str]) -> tuple[int, bool]:
    """An epoch's slow update comes after its last step."""
    return place[0], place[1] == "slow_update"
