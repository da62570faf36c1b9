"""A finished run's report, out of the journal: what `honed train` says of a run that a daemon made."""

from __future__ import annotations

from daemon.journal.journal import JournalError
from daemon.optimizer.decision import ReportDecision
from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.report import BeforeAfter, RunReport, edit_fates, guidance_fates
from daemon.optimizer.reporting import REPORT, in_order
from daemon.readback.run import RunView, lenient
from daemon.rollouts.result import usage_of
from sandboxes.gateway.policy import Usage


def report_of(view: RunView, *, resumed: bool = False) -> RunReport:
    """The report as the run's own process gave it; raises `JournalError` if it has none yet."""
    found = next((d for d in view.decisions if d.kind == REPORT), None)
    if found is None:
        raise JournalError(
            f"run {view.run.run_id} has not come to its report (`honed show {view.run.run_id}` tells it)"
        )
    told = lenient(ReportDecision, found.payload)
    commits = {(step, "step"): made for step, made in view.commits.items()}
    commits |= {(step, "slow_update"): made for step, made in view.slow_commits.items()}
    records = [row.record for row in view.attempts]
    return RunReport(
        run_id=view.run.run_id,
        skill=view.run.skill,
        resumed=resumed,
        ended=told.ended,
        failed=told.failed,
        metric=told.metric,
        selection=BeforeAfter(told.before, told.after),
        test=_test(view),
        steps=view.steps,
        edits=(*edit_fates(view.steps, commits), *guidance_fates(view.slow_updates, commits)),
        commits=in_order(commits),
        base_commit=view.run.base_commit,
        best_digest=told.best_digest,
        current_is_best=told.current_is_best,
        target_usage=sum((usage_of(record) for record in records), Usage()),
        optimizer_usage=sum((Usage(**row.reply["usage"]) for row in view.replies), Usage()),
        attempts=len(records),
        invalid=sum(record.score is None for record in records),
        wall_s=view.wall_s,
    )


def _test(view: RunView) -> BeforeAfter:
    if view.final is None:
        return BeforeAfter(None, None)
    before, after = (Measured.model_validate(view.final[name]) for name in ("before", "after"))
    return BeforeAfter(before, after)
