"""`honed log`: the learning curve, read from git alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

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
    for commit in commits:
        trailers = commit.trailers
        style = {"edit": "green", "revert": "yellow"}.get(commit.kind, "dim")
        console.print(Text.assemble((commit.sha[:10], "yellow"), " ", (commit.kind, style), " ", plain(commit.subject)))
        if "Honed-Step" in trailers:
            phase = f", {trailers['Honed-Phase']}" if "Honed-Phase" in trailers else ""
            step = f"{trailers['Honed-Step']} of run {trailers.get('Honed-Run', 'unknown')}{phase}"
            console.print(Text(f"             step      {plain(step)}"))
        for name in ("Honed-Gate", "Honed-Evidence", "Honed-Target"):
            if name in trailers:
                console.print(Text(f"             {name.removeprefix('Honed-').lower():<9} {plain(trailers[name])}"))
        if commit.kind == "revert" and commit.reason:
            console.print(Text(f"             reason    {plain(commit.reason)}"))
