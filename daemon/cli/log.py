"""`honed log`: the learning curve, read from git alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output, plain
from daemon.cli.run import run
from daemon.config import load_config
from daemon.wiring import open_history

if TYPE_CHECKING:
    from rich.console import Console

    from skills_repo.history import SkillCommit


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("log")(log)


def log(
    config: ConfigFile = DEFAULT_CONFIG,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many commits at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show every edit of the skill, newest first: what it changed in the score and on which evidence.

    Reads commits and their trailers, no database.

    Example: honed log -n 10
    """
    output = Output(as_json=as_json)
    run(output, lambda: _log(output, config, limit))


async def _log(output: Output, config: Path, limit: int) -> None:
    settings = load_config(config)
    commits = await open_history(settings).log(limit)
    output.result({"skill": settings.skill.path, "commits": [_row(c) for c in commits]}, lambda c: _render(c, commits))


def _row(commit: SkillCommit) -> dict[str, Any]:
    return {
        "sha": commit.sha,
        "kind": commit.kind,
        "subject": commit.subject,
        "author": commit.author,
        "when": commit.when,
        "trailers": dict(commit.trailers),
    }


def _render(console: Console, commits: tuple[SkillCommit, ...]) -> None:
    if not commits:
        console.print("no commits on the skill's branch yet: run `honed train`")
        return
    table = Table(box=None, pad_edge=False)
    for column in ("commit", "kind", "subject", "gate", "evidence"):
        table.add_column(column, overflow="fold")
    for commit in commits:
        trailers = commit.trailers
        gate, evidence = trailers.get("Honed-Gate", ""), trailers.get("Honed-Evidence", "")
        table.add_row(commit.sha[:10], commit.kind, plain(commit.subject), plain(gate), plain(evidence))
    console.print(table)
