"""`honed status`: what the daemon does now, once or watched; without one, what the stores say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daemon.cli.asking import daemon_of, job_data, state_of, status_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.status_view import line_of, render_alone, render_status
from daemon.cli.stores import newest_run, stored_jobs, stored_pauses
from daemon.control.errors import ControlError, NoDaemonError
from daemon.control.wire import to_data

if TYPE_CHECKING:
    from daemon.control.client import Client
    from daemon.service.desk import Status


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("status")(status)


def status(
    *,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on showing it, until Ctrl-C; without a terminal a line a change.")
    ] = False,
    every: Annotated[float, typer.Option("--every", min=0.1, help="Seconds between looks of --watch.")] = 1.0,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what the daemon does: each skill's state and why, the job that runs, what waits, what is wrong.

    Without a daemon it says so, and what the newest jobs and runs came to.

    Example: honed status --watch
    """
    output = Output(as_json=as_json)
    if watch:
        run(output, lambda: _watch(output, config, every))
    else:
        run(output, lambda: _status(output, config))


async def _status(output: Output, config: Path) -> None:
    try:
        found = await status_of(await daemon_of(config, output))
    except NoDaemonError as error:
        await _alone(output, config, str(error))
        return
    output.result(_data(found), lambda console: render_status(console, found))


def _data(found: Status) -> dict[str, Any]:
    return {"running": True, "status": to_data(found)}


async def _alone(output: Output, config: Path, why: str) -> None:
    """What is known while no daemon runs."""
    jobs, pauses, newest = await stored_jobs(config, 10), await stored_pauses(config), await newest_run(config)
    record, steps = newest or (None, 0)
    data = {
        "running": False,
        "why": why,
        "jobs": [job_data(job) for job in jobs],
        "pauses": to_data(pauses),
        "run": None if record is None else {"run": record.run_id, "state": record.state, "steps": steps},
    }
    output.result(data, lambda console: render_alone(console, why, jobs, pauses, newest))


async def _watch(output: Output, config: Path, every: float) -> int:
    """Look again and again; Ctrl-C ends it, as it is meant to."""
    await asyncio.to_thread(state_of, config)
    with ExitStack() as stack:
        show = _lines(output) if output.as_json or not output.console.is_terminal else _drawn(output, stack)
        try:
            client: Client | None = None
            while True:
                try:
                    client = client or await daemon_of(config, output)
                    show(await status_of(client))
                except ControlError as error:  # it has stopped, or just starts again
                    client = None
                    show(str(error))
                await asyncio.sleep(every)
        except asyncio.CancelledError:
            return 0


def _drawn(output: Output, stack: ExitStack) -> Any:
    """Redraws in place."""
    from rich.live import Live  # noqa: PLC0415 - only where it is drawn

    from daemon.cli.status_view import status_parts  # noqa: PLC0415

    live = stack.enter_context(Live(console=output.console, auto_refresh=False, transient=False))

    def show(found: Status | str) -> None:
        live.update(found if isinstance(found, str) else status_parts(found), refresh=True)

    return show


def _lines(output: Output) -> Any:
    """A line where something has changed."""
    last: list[Sequence[str]] = [()]

    def show(found: Status | str) -> None:
        lines = [found] if isinstance(found, str) else line_of(found)
        if lines == last[0]:
            return
        known, last[0] = last[0], lines
        if output.as_json:
            data = {"running": False, "why": found} if isinstance(found, str) else _data(found)
            output.result(data, lambda _console: None)
            return
        stamp = time.strftime("%H:%M:%S")
        for line in lines:
            if line not in known:
                output.console.print(f"{stamp} {line}", markup=False)

    return show
