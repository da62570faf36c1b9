"""A run that had come to its end when the daemon was killed: its job ends with it, not with another one.

Read from the journal alone, beside whoever writes it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from daemon.jobs.job import Job
from daemon.journal.journal import Journal, JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.report import RunReport
from daemon.places import may_be_there, open_history
from daemon.readback.report import report_of
from daemon.readback.run import read_run
from daemon.service.ends import JobEnd
from daemon.service.project import Project

log = structlog.get_logger(__name__)


def end_of_run(report: RunReport, branch: str) -> JobEnd:
    """The end of a job whose run came to its report; `branch`: where it committed."""
    after = report.selection.after
    return JobEnd(
        "failed" if report.failed else "done",
        report.ended,
        run_id=report.run_id,
        accepted=report.accepted,
        score=after.score if after else None,
        tasks=after.n if after else 0,
        branch=branch.removeprefix("refs/heads/"),
        commits=report.commits,
    )


async def run_of(project: Project, job: Job) -> str:
    """The newest run that was begun or gone on with since the job began; empty: none was, or nobody can tell."""
    if job.started is None:
        return ""
    try:
        async with _journal(project) as journal:
            spans = () if journal is None else await journal.spans(since=job.started)
    except JournalError as error:
        log.warning("a job's run is not known", job=job.number, error=str(error))
        return ""
    found = [span.run_id for span in spans if span.started >= job.started]
    return found[-1] if found else ""


async def ended_run(project: Project, run_id: str) -> JobEnd | None:
    """The end of a run of the project that came to its report; None: it did not, or is another's."""
    async with _journal(project) as journal:
        if journal is None:
            return None
        runs = [run for run in await journal.find_runs(project.config.skill.path) if run.run_id == run_id]
        if not runs or runs[0].state == "open":
            return None
        view = await read_run(journal, runs[0])
    try:
        return end_of_run(report_of(view), open_history(project.config).branch)
    except JournalError:
        return None  # it ended otherwise: a person's version came before its next step


@asynccontextmanager
async def _journal(project: Project) -> AsyncIterator[Journal | None]:
    """The project's journal to read; None before its first run."""
    path = project.state / "journal.sqlite"
    if not may_be_there(path):
        yield None
        return
    journal = SqliteJournal(path, read_only=True)
    try:
        yield journal
    finally:
        await journal.close()
