"""`honed events`: what happens, as the daemon tells it."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.asking import STYLES, daemon_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.control.errors import ControlError
from daemon.control.following import lines
from daemon.control.wire import WireError, from_data, to_data
from daemon.plain import plain
from daemon.telling.events import DaemonEvent

if TYPE_CHECKING:
    from daemon.control.client import Line

_NEWEST = 50
_KINDS = {"broken": "bold red", "rejected-by-person": "red", "step": "green", "paused": "yellow"}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("events")(events)


def events(
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    after: Annotated[
        int | None, typer.Option("--after", min=0, help="Only those with a higher number; without it, the newest 50.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what happened since the daemon started: causes noticed, jobs, runs, attempts, decisions, troubles.

    The daemon keeps the newest 2,000; with --follow and --json each event is a JSON line of its own as it happens.

    Example: honed events --follow
    """
    output = Output(as_json=as_json)
    run(output, lambda: _until_interrupted(output, config, after, follow=follow))


async def _until_interrupted(output: Output, config: Path, after: int | None, *, follow: bool) -> None:
    """Ctrl-C ends it, as it is meant to."""
    try:
        await _events(output, config, after, follow=follow)
    except asyncio.CancelledError:
        if not follow:
            raise


async def _events(output: Output, config: Path, after: int | None, *, follow: bool) -> None:
    client = await daemon_of(config, output)
    query = f"newest={_NEWEST}" if after is None else f"after={after}"
    found: list[DaemonEvent] | None = [] if output.as_json and not follow else None
    day = ""
    async with aclosing(lines(client, f"{query}&follow={int(follow)}")) as told:
        async for line in told:
            event = event_of(line)
            if line.lost:
                output.warn(f"{line.lost} events are lost: they are older than what the daemon keeps")
            if event is None:
                continue
            if found is None:
                day = _show(output, event, day)
            else:
                found.append(event)
    if found is not None:
        output.result({"events": to_data(found)}, lambda _console: None)
    elif follow:
        raise ControlError("the daemon has stopped: start it again with `honed daemon`")


def event_of(line: Line) -> DaemonEvent | None:
    """The event of a line, if it has one; raises `ControlError`."""
    if line.event is None:
        return None
    try:
        return from_data(DaemonEvent, line.event)
    except WireError as error:
        raise ControlError(f"the daemon's events cannot be read: {error} (is it of another version?)") from error


def _show(output: Output, event: DaemonEvent, day: str) -> str:
    """Tell one event; a new day gets a line of its own. Returns the day."""
    there = time.localtime(event.time)
    today = time.strftime("%Y-%m-%d", there)
    if output.as_json:
        data: dict[str, Any] = {"event": to_data(event)}
        output.result(data, lambda _console: None)
        return today
    if day and day != today:
        output.console.print(Text(today, style="dim"))
    text = Text.assemble(
        (f"{time.strftime('%H:%M:%S', there)} ", "dim"), (f"{event.kind:<9} ", _KINDS.get(event.kind, "cyan"))
    )
    if event.project:
        text.append(f"{plain(event.project)} ", style="bold")
    if event.job is not None:
        text.append(f"job {event.job} ", style="dim")
    state = event.data.get("state")
    output.console.print(text.append(plain(event.what), style=STYLES.get(str(state), "")))
    return today
