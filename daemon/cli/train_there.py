"""`honed train` where a daemon keeps the project: it queues a job there, follows it to its end and reports it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.cli.asking import clock, status_of
from daemon.cli.cancel import job_of
from daemon.cli.following_job import Follower
from daemon.cli.run import FAILED, INTERRUPTED, STOPPED, code_of
from daemon.cli.train_report import Setting, render_report, report_data
from daemon.control.client import find_daemon
from daemon.control.errors import NoDaemonError
from daemon.journal.journal import JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.places import open_history, state_folder
from daemon.readback.find import find_run
from daemon.readback.report import report_of
from daemon.readback.run import RunView, read_run
from daemon.training.following import followed_data
from daemon.wiring import open_tasks
from skills_repo.publish.outcome import Outcome

if TYPE_CHECKING:
    from daemon.cli.output import Output
    from daemon.config import Config
    from daemon.control.client import Client
    from daemon.optimizer.report import RunReport


async def keeper_of(config: Config, output: Output) -> Client | None:
    """The daemon that keeps this very file; None if none runs, or it keeps another one of this folder."""
    try:
        client = await asyncio.to_thread(find_daemon, state_folder(config))
        status = await status_of(client)
    except NoDaemonError:
        return None
    if other := client.other_version():
        output.warn(other)
    file = await asyncio.to_thread(config.file.resolve)
    kept = await asyncio.to_thread(lambda: [Path(one.file).resolve() for one in status.projects])
    if file in kept:
        return client
    output.warn(f"a daemon runs here (process {status.pid}), but does not keep {file.name}: working alone")
    return None


async def train_there(output: Output, config: Config, client: Client) -> int:
    """Queue a run, follow it and report it; returns the exit code that working alone would have come to."""
    answer = await asyncio.to_thread(lambda: client.post("/train", file=str(config.file)))
    job, after = job_of(answer), answer.get("after")
    follower = Follower(output, state_folder(config), client, job, after if isinstance(after, int) else 0)
    output.say(f"job {job.number} is queued at the daemon: Ctrl-C leaves it to it, `honed cancel {job.number}` ends it")
    try:
        await follower.follow()
    except asyncio.CancelledError:
        number = follower.job.number
        said = f"job {number} goes on at the daemon: `honed events --follow` shows it, `honed cancel {number}` ends it"
        output.error("detached", said)
        return INTERRUPTED
    follower.engine = (await status_of(follower.client)).engine
    return await _ended(output, config, follower)


async def _ended(output: Output, config: Config, follower: Follower) -> int:
    """Say what came of it."""
    job, kind = follower.job, follower.kind
    if job.state == "queued":
        when = clock(job.not_before, time.time())
        output.error(kind or "stopped", f"{job.reason}: job {job.number} goes on by itself, not before {when}")
        return code_of(kind) if kind else STOPPED
    found = await _read_back(config, job.run_id, resumed=follower.resumed) if job.state != "cancelled" else None
    if found is None:
        output.error(kind or job.state, f"job {job.number} {job.state}: {job.reason}")
        return code_of(kind) if kind else FAILED
    view, report = found
    setting = await _setting(config, view, follower.engine)
    published = follower.published or {"outcome": str(Outcome.OFF), "reason": "", "url": None}
    data = {**report_data(report, setting), "followed": followed_data(view.followed), "published": published}
    output.result(data, lambda console: render_report(console, report, setting))
    return STOPPED if report.failed else 0


async def _read_back(config: Config, run_id: str, *, resumed: bool) -> tuple[RunView, RunReport] | None:
    """The run and its report, out of the journal; None if it has not come to one."""
    journal = SqliteJournal(state_folder(config) / "journal.sqlite", read_only=True)
    try:
        view = await read_run(journal, await find_run(journal, run_id, config.skill.path))
        return view, report_of(view, resumed=resumed)
    except JournalError:
        return None
    finally:
        await journal.close()


async def _setting(config: Config, view: RunView, engine: str) -> Setting:
    return Setting(
        harness=view.fingerprint.get("harness", config.target.harness),
        sandbox=engine.split(" ", maxsplit=1)[0].lower() or "none",
        image=view.fingerprint.get("target.image", ""),
        tasks=await asyncio.to_thread(open_tasks, config),
        branch=open_history(config).branch,
        repository=config.skill.repository,
        train=config.train,
    )
