"""`honed resume`: end a pause."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from daemon.cli.asking import SkillOfDaemon, daemon_of, name_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("resume")(resume)


def resume(skill: SkillOfDaemon = None, *, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """End a pause, of one skill or of the whole daemon; a run that was stopped goes on where it was.

    Example: honed resume pdf-forms
    """
    output = Output(as_json=as_json)
    run(output, lambda: _resume(output, config, skill))


async def _resume(output: Output, config: Path, skill: str | None) -> None:
    client = await daemon_of(config, output)
    name = await name_of(client, skill)
    await asyncio.to_thread(lambda: client.post("/resume", project=name))
    output.result(
        {"resumed": name or None}, lambda console: console.print(f"{name or 'everything'} goes on", markup=False)
    )
