"""`honed pause`: let a daemon begin nothing new."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.asking import SkillOfDaemon, daemon_of, name_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("pause")(pause)


def pause(
    skill: SkillOfDaemon = None,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; `honed status` shows it.")] = "",
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Let the daemon begin nothing new, for one skill or for all; what runs comes to the end of its attempts.

    A pause survives a restart, and `honed resume` ends it: what was stopped goes on where it was.

    Example: honed pause pdf-forms --reason "the release is cut on Friday"
    """
    output = Output(as_json=as_json)
    run(output, lambda: _pause(output, config, skill, reason))


async def _pause(output: Output, config: Path, skill: str | None, reason: str) -> None:
    client = await daemon_of(config, output)
    name = await name_of(client, skill)
    await asyncio.to_thread(lambda: client.post("/pause", project=name, reason=reason))
    again = f"honed resume {name}".rstrip()
    output.result(
        {"paused": name or None, "reason": reason},
        lambda console: console.print(f"{name or 'everything'} is paused: `{again}` ends it", markup=False),
    )
