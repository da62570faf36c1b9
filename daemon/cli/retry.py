"""`honed retry`: queue an ended job's work again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from daemon.cli.asking import JobNumber, daemon_of, job_data
from daemon.cli.cancel import job_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("retry")(retry)


def retry(job: JobNumber, *, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Queue the work of a job that has ended again: of one that failed, was cancelled, or changed nothing.

    Example: honed retry 7
    """
    output = Output(as_json=as_json)
    run(output, lambda: _retry(output, config, job))


async def _retry(output: Output, config: Path, number: int) -> None:
    client = await daemon_of(config, output)
    made = job_of(await asyncio.to_thread(lambda: client.post(f"/jobs/{number}/retry")))
    said = f"queued as job {made.number} of {made.project}: `honed explain {made.number}` says when it begins"
    output.result({"job": job_data(made)}, lambda console: console.print(said, markup=False))
