"""`honed train`: hone the skill, and say what came of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import STOPPED, run
from daemon.cli.train_report import Setting, render_report, report_data
from daemon.cli.train_there import keeper_of, train_there
from daemon.config import load_config
from daemon.housekeeping.house import keep_house
from daemon.publishing.around_run import check_publishing, publish_after
from daemon.training.following import followed_data
from daemon.training.train import ask_both, train_with
from daemon.wiring import open_parts


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("train")(train)


def train(
    config: ConfigFile = DEFAULT_CONFIG,
    preflight: Annotated[
        bool, typer.Option("--preflight/--no-preflight", help="Try target and optimizer once before the run.")
    ] = True,
    alone: Annotated[
        bool, typer.Option("--alone", help="Train in this process, though a daemon keeps the project.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Hone the skill on its tasks; every accepted edit becomes a commit on the branch honed/<skill>.

    Stopped or killed at any moment and started again, it goes on where it was: nothing is paid for twice. Where a
    daemon keeps the project, the run is queued there and followed; Ctrl-C leaves it to the daemon.

    Example: honed train --config honed.toml
    """
    output = Output(as_json=as_json)
    run(output, lambda: _train(output, config, preflight=preflight, alone=alone))


async def _train(output: Output, file: Path, *, preflight: bool, alone: bool = False) -> int:
    config = load_config(file)
    daemon = None if alone else await keeper_of(config, output)
    if daemon is not None:
        if not preflight:
            output.warn(
                "--no-preflight is not for a daemon, which tries both models before each run: add --alone for it"
            )
        return await train_there(output, config, daemon)
    await check_publishing(config, output)
    async with open_parts(config, progress(output)) as parts:
        report = await train_with(parts, output, preflight=ask_both if preflight else None)
        followed = followed_data(await parts.history.followed_to(report.base_commit))
        published = await publish_after(config, output)
        data = {**report_data(report, Setting.of(parts)), "followed": followed, "published": published}
        output.result(data, lambda console: render_report(console, report, Setting.of(parts)))
        await keep_house(parts.state, config.retention, time.time(), journal=parts.journal)
    return STOPPED if report.failed else 0
