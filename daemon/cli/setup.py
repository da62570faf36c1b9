"""`honed setup`: bring engine, sandbox image and CLIs to this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from daemon.cli.options import AsJson
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.setup.setup import set_up, summary

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.setup.setup import SetupReport


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("setup")(setup)


def setup(as_json: AsJson = False) -> None:
    """Bring what the main job needs: Docker engine, sandbox image, Codex and Claude Code at their pinned versions.

    Says what it installs; HONED_INSTALL_ENGINE=0 declines the engine. Quick when everything is there.

    Example: honed setup
    """
    output = Output(as_json=as_json)
    run(output, lambda: _setup(output))


async def _setup(output: Output) -> None:
    report = await set_up(output.say)
    output.result(report.as_json(), lambda console: _render(console, report))


def _render(console: Console, report: SetupReport) -> None:
    for line in summary(report):
        console.print(line, markup=False)
