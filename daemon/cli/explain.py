"""`honed explain`: why a job was chosen, or what it waits for."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from daemon.cli.asking import JobNumber, clock, daemon_of, indented, job_line
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.control.wire import to_data
from daemon.plain import plain
from daemon.service.desk import Explanation, Weighed

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("explain")(explain)


def explain(job: JobNumber, *, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Explain why a job of the daemon was chosen, or what it waits for, and how all skills are weighed now.

    Example: honed explain 7
    """
    output = Output(as_json=as_json)
    run(output, lambda: _explain(output, config, job))


async def _explain(output: Output, config: Path, number: int) -> None:
    client = await daemon_of(config, output)
    found = await asyncio.to_thread(client.get, f"/jobs/{number}", "explanation", Explanation)
    output.result({"explanation": to_data(found)}, lambda console: _render(console, found))


def _render(console: Console, found: Explanation) -> None:
    job, now = found.job, time.time()
    console.print(job_line(job))
    console.print(Text(plain(found.why)))
    if job.chosen and job.chosen != found.why:
        console.print(Text(f"chosen for: {plain(job.chosen)}"))
    times = [("queued", job.created), ("begun", job.started), ("ended", job.ended)]
    console.print(", ".join(f"{name} {clock(when, now)}" for name, when in times if when is not None))
    if job.run_id:
        console.print(Text(f"run {plain(job.run_id)}: see `honed show {plain(job.run_id)}`"))
    if not found.weighed:
        return
    console.print()
    console.print("how the skills are weighed now, best first:")
    for one in found.weighed:
        console.print(Text.assemble("  ", (plain(one.project), "bold"), f"  {_standing(one)}"))
        for reason in one.reasons:
            console.print(indented(console, Text(plain(reason), style="dim"), 6))


def _standing(one: Weighed) -> str:
    if one.running:
        return f"running now (job {one.running})"
    return f"{one.value:.3f}" if one.eligible else "not eligible"
