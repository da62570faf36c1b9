"""`honed reload`: let a daemon read its configuration again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import typer

from daemon.cli.asking import daemon_of, status_of
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import FAILED, run
from daemon.control.wire import to_data


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reload")(reload)


def reload(*, config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Let the daemon read its configuration again, as SIGHUP does; what cannot be used is said, and not taken over.

    Example: honed reload && honed status
    """
    output = Output(as_json=as_json)
    run(output, lambda: _reload(output, config))


async def _reload(output: Output, config: Path) -> int:
    client = await daemon_of(config, output)
    await asyncio.to_thread(client.post, "/reload")
    status = await status_of(client)
    wrong = [one for one in status.troubles if one.name == "config"]
    for trouble in wrong:
        output.warn(f"{trouble.what}: {trouble.remedy}" if trouble.remedy else trouble.what)
    names = [one.name for one in status.projects]
    output.result(
        {"projects": names, "troubles": to_data(wrong)},
        lambda console: console.print(f"configuration read: it keeps {', '.join(names)}", markup=False),
    )
    return FAILED if wrong else 0
