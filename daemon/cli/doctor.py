"""`honed doctor`: could the main job run here? One row a check, each with the command that mends it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.plain import plain
from daemon.setup.doctor import run_checks

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.setup.doctor import Check

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("doctor")(doctor)


def doctor(
    config: ConfigFile = DEFAULT_CONFIG,
    online: Annotated[bool, typer.Option("--online", help="Also ask the providers whether they answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check engine, image, CLIs, gateway, keys, repository, tasks and split sizes; exit 1 if training could not run.

    Example: honed doctor --json
    """
    output = Output(as_json=as_json)
    run(output, lambda: _doctor(output, config, online=online))


async def _doctor(output: Output, file: Path, *, online: bool) -> int:
    checks = await run_checks(file, online=online)
    failed = any(check.state == "fail" for check in checks)
    data = {"ok": not failed, "checks": [asdict(check) for check in checks]}
    output.result(data, lambda console: _render(console, checks, failed=failed))
    return 1 if failed else 0


def _render(console: Console, checks: tuple[Check, ...], *, failed: bool) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("check", "state", "detail", "remedy"):
        table.add_column(column, overflow="fold")
    for check in checks:
        state = f"[{_STYLES[check.state]}]{check.state}[/]"
        table.add_row(check.name, state, Text(plain(check.detail)), Text(plain(check.remedy)))
    console.print(table)
    console.print("training cannot run yet" if failed else "ready to train")
