"""`honed cancel`: end a job."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.asking import JobNumber, daemon_of, job_data
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.control.errors import ControlError
from daemon.control.wire import WireError, from_data
from daemon.jobs.job import ENDED, Job


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("cancel")(cancel)


def cancel(
    job: JobNumber,
    *,
    hard: Annotated[
        bool, typer.Option("--hard", help="Stop running attempts at once; what they have cost is lost.")
    ] = False,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """End a job of the daemon: running attempts come to their end first, or with --hard they are stopped.

    What its run has accepted stays committed, and what it has paid for stays in the journal for the next one.

    Example: honed cancel 7
    """
    output = Output(as_json=as_json)
    run(output, lambda: _cancel(output, config, job, hard=hard))


async def _cancel(output: Output, config: Path, number: int, *, hard: bool) -> None:
    client = await daemon_of(config, output)
    answer = await asyncio.to_thread(lambda: client.post(f"/jobs/{number}/cancel", hard=hard))
    job = job_of(answer)
    what = "has ended" if job.state in ENDED else "ends once its running attempts have"
    output.result(
        {"job": job_data(job)}, lambda console: console.print(f"job {number} of {job.project} {what}", markup=False)
    )


def job_of(answer: dict[str, object]) -> Job:
    """The job of an answer; raises `ControlError`."""
    try:
        return from_data(Job, answer.get("job"))
    except WireError as error:
        raise ControlError(f"the daemon's answer cannot be read: {error} (is it of another version?)") from error
