"""`honed publish`: let the accepted edits leave this machine, as far as the configuration says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import FAILED, run
from daemon.config import load_config
from daemon.plain import plain
from daemon.publishing.around_run import publish_with
from skills_repo.publish.outcome import Outcome, Published

if TYPE_CHECKING:
    from rich.console import Console

    from skills_repo.publish.forge import Request

_STYLES = {Outcome.STOPPED: "bold red", Outcome.WAITING: "yellow", Outcome.OFF: "yellow"}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("publish")(publish)


def publish(
    config: ConfigFile = DEFAULT_CONFIG,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing anywhere: show what would be pushed, and the whole body.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Push the branch honed/<skill>, or open one pull or merge request for it, as [publish] in honed.toml says.

    Never forces a push, and does nothing where nothing changed. By default ([publish] mode = "branch") nothing leaves.

    Example: honed publish --dry-run
    """
    output = Output(as_json=as_json)
    run(output, lambda: _publish(output, config, dry_run=dry_run))


async def _publish(output: Output, file: Path, *, dry_run: bool) -> int:
    done = await publish_with(load_config(file), dry_run=dry_run)
    output.result(data_of(done, dry_run=dry_run), lambda console: _render(console, done, dry_run=dry_run))
    return FAILED if done.outcome is Outcome.STOPPED else 0


def data_of(done: Published, *, dry_run: bool) -> dict[str, Any]:
    """The machine-readable result."""
    return {
        "outcome": str(done.outcome),
        "reason": done.reason,
        "dry_run": dry_run,
        "branch": done.branch,
        "base": done.base,
        "head": done.head,
        "push": None if done.push is None else {"commit": done.push[0], "branch": done.push[1]},
        "commits": list(done.commits),
        "request": _request(done.request),
        "token_from": done.token_from,
        "title": done.title,
        "labels": list(done.labels),
        "risks": [asdict(risk) for risk in done.risks],
        "body": done.body,
    }


def _request(request: Request | None) -> dict[str, Any] | None:
    if request is None:
        return None
    return {"number": request.number, "url": request.url, "state": request.state, "head": request.head}


def _render(console: Console, done: Published, *, dry_run: bool) -> None:
    head = f"{done.outcome}{' (dry run)' if dry_run else ''}"
    console.print(Text.assemble((head, _STYLES.get(done.outcome, "bold green")), f": {plain(done.reason)}"))
    if done.push is not None:
        verb = "would push" if dry_run else "pushed"
        count = f"{len(done.commits)} commit{'' if len(done.commits) == 1 else 's'} of the skill"
        console.print(Text(f"{verb} {done.push[0][:12]} to {plain(done.push[1])}: {count}"))
    if done.token_from:
        console.print(Text(f"token: {plain(done.token_from)}", style="dim"))
    for risk in done.risks:
        console.print(Text(plain(f"needs review: {risk.file} {risk.kind.words}: {risk.text}"), style="yellow"))
    if dry_run and done.body:
        labels = f"\nlabels: {', '.join(done.labels)}" if done.labels else ""
        console.print(Text(plain(f"\ntitle: {done.title}{labels}\n\n") + "\n".join(map(plain, done.body.split("\n")))))
