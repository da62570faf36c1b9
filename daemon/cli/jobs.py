"""`honed jobs`: the daemon's newest jobs."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from daemon.cli.asking import STYLES, caused, clock, daemon_of, job_data, score_text
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.stores import stored_jobs
from daemon.control.errors import NoDaemonError
from daemon.jobs.job import Job
from daemon.plain import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("jobs")(jobs)


def jobs(
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many are listed at most.")] = 20,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """List the daemon's newest jobs: what caused each, how it stands, what came of it; also while no daemon runs.

    Example: honed jobs -n 50
    """
    output = Output(as_json=as_json)
    run(output, lambda: _jobs(output, config, limit))


async def _jobs(output: Output, config: Path, limit: int) -> None:
    try:
        client = await daemon_of(config, output)
        found = await asyncio.to_thread(client.get_all, f"/jobs?newest={limit}", "jobs", Job)
    except NoDaemonError as error:
        output.say(str(error))
        found = await stored_jobs(config, limit)
    output.result({"jobs": [job_data(job) for job in found]}, lambda console: _render(console, found))


def _render(console: Console, found: Sequence[Job]) -> None:
    if not found:
        console.print("no jobs yet")
        return
    now = time.time()
    table = Table(box=None, pad_edge=False)
    for name in ("job", "skill", "state", "since", "score", "edits"):
        table.add_column(name, no_wrap=True, justify="right" if name in ("job", "score", "edits") else "left")
    table.add_column("cause; what came of it", overflow="fold")
    for job in found:
        since = job.ended or job.started or job.created
        table.add_row(
            str(job.number),
            Text(plain(job.project)),
            Text(job.state, style=STYLES.get(job.state, "")),
            clock(since, now),
            score_text(job.score),
            "-" if job.accepted is None else str(job.accepted),
            Text(f"{caused(job.cause)}{'; ' + plain(job.reason) if job.reason else ''}"),
        )
    console.print(table)
