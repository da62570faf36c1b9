"""`honed train`: hone the skill, and say what came of it."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import STOPPED, run
from daemon.config import load_config
from daemon.housekeeping.house import keep_house
from daemon.optimizer.gates.power import smallest_effect
from daemon.optimizer.report import BeforeAfter, RunReport
from daemon.plain import plain
from daemon.publishing.around_run import check_publishing, publish_after
from daemon.tasks.published import split_told
from daemon.training.following import followed_data
from daemon.training.train import train_with
from daemon.wiring import Parts, open_parts


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("train")(train)


def train(
    config: ConfigFile = DEFAULT_CONFIG,
    preflight: Annotated[
        bool, typer.Option("--preflight/--no-preflight", help="Try target and optimizer once before the run.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Hone the skill on its tasks; every accepted edit becomes a commit on the branch honed/<skill>.

    Stopped or killed at any moment and started again, it goes on where it was: nothing is paid for twice.

    Example: honed train --config honed.toml
    """
    output = Output(as_json=as_json)
    run(output, lambda: _train(output, config, preflight=preflight))


async def _train(output: Output, file: Path, *, preflight: bool) -> int:
    config = load_config(file)
    await check_publishing(config, output)
    async with open_parts(config, progress(output)) as parts:
        report = await train_with(parts, output, preflight=preflight)
        followed = followed_data(await parts.history.followed_to(report.base_commit))
        published = await publish_after(config, output)
        data = {**report_data(report, parts), "followed": followed, "published": published}
        output.result(data, lambda console: render_report(console, report, parts))
        await keep_house(parts.state, config.retention, time.time(), journal=parts.journal)
    return STOPPED if report.failed else 0


def report_data(report: RunReport, parts: Parts) -> dict[str, Any]:
    """The machine-readable result of a run."""
    return {
        "run": report.run_id,
        "skill": report.skill,
        "resumed": report.resumed,
        "ended": report.ended,
        "failed": report.failed,
        "sandbox": parts.engine.engine if parts.engine else "none",
        "image": parts.engine.image_digest if parts.engine else "",
        "harnesses": [parts.harness.name],
        "tasks_digest": parts.tasks.digest,
        "split_digest": parts.tasks.split_digest,
        "attempts": report.attempts,
        "invalid": report.invalid,
        "score": {"metric": report.metric, **scores_data(report)},
        "edits": {"proposed": report.proposed, "accepted": report.accepted, "rejected": report.rejected},
        "commits": list(report.commits),
        "best_is_newest": report.current_is_best,
        "branch": parts.history.branch,
        "repository": str(parts.config.skill.repository.resolve()),
        "usage": {"target": _usage(report.target_usage), "optimizer": _usage(report.optimizer_usage)},
        "wall_s": round(report.wall_s, 2),
    }


def scores_data(report: RunReport) -> dict[str, Any]:
    """Before and after, by split."""
    return {name: _pair(pair) for name, pair in (("selection", report.selection), ("test", report.test))}


def _pair(pair: BeforeAfter) -> dict[str, float | None]:
    return {
        "before": None if pair.before is None else pair.before.score,
        "after": None if pair.after is None else pair.after.score,
    }


def _usage(usage: Any) -> dict[str, Any]:
    return {"requests": usage.requests, "tokens": usage.tokens, "usd": usage.usd}


def render_report(console: Console, report: RunReport, parts: Parts) -> None:
    """The result for people: edits and why, scores, commits, cost."""
    console.print()
    console.print(Text.assemble((plain(report.skill), "bold"), f": {plain(report.ended)}"))
    if report.edits:
        console.print(edits_table(report))
    scores = scores_table(report, parts.harness.name)
    if scores.row_count:
        console.print(scores)
    branch = parts.history.branch.removeprefix("refs/heads/")
    if report.commits:
        noun = "commit" if len(report.commits) == 1 else "commits"
        console.print(
            f"{len(report.commits)} {noun} on {branch}: see `honed log`, review with `git diff HEAD {branch}`"
        )
    else:
        console.print(f"{_steps_in_words(report)}: nothing was committed to {branch}")
        if sight := _sight(report, parts):
            console.print(sight)
    if not report.current_is_best:
        console.print(
            f"the newest commit of {branch} is not the best skill, for a slow update was forced: the scores above are "
            f"of the best one (digest {report.best_digest.removeprefix('sha256:')[:12]})"
        )
    console.print(Text(split_told(parts.tasks.split_digest)))
    total = report.target_usage + report.optimizer_usage
    money = "price unknown" if total.usd is None else f"${total.usd:.2f}"
    counts = f"{report.attempts} attempts ({report.invalid} invalid)"
    console.print(f"{counts}, {total.tokens:,} tokens, {money}, {report.wall_s:.0f} s")


def _sight(report: RunReport, parts: Parts) -> str:
    """For a run whose every candidate was rejected: how small a gain could have been seen at all."""
    train, selection = parts.config.train, parts.tasks.sizes()["selection"]
    if train.gate != "paired" or not any(step.outcome == "rejected" for step in report.steps):
        return ""
    points = 100 * smallest_effect(selection, train)
    return f"your selection split sees gains of about {points:.0f} points: `honed calibrate` says more"


def _steps_in_words(report: RunReport) -> str:
    """How the steps of a run without a commit ended, most frequent first."""
    if not report.steps:
        return "no step was made"
    outcomes = Counter(step.outcome for step in report.steps)
    ordered = sorted(outcomes.items(), key=lambda row: (-row[1], row[0]))
    steps = f"{len(report.steps)} {'step' if len(report.steps) == 1 else 'steps'}"
    return f"{steps} ({', '.join(f'{count} {_OUTCOMES.get(outcome, outcome)}' for outcome, count in ordered)})"


_OUTCOMES = {
    "budget": "ended by their own budget",
    "no_change": "without a candidate to judge",
    "no_edits": "without a proposed edit",
    "no_valid_attempts": "without a valid attempt",
    "nothing_to_learn": "with nothing to learn",
    "optimizer_error": "without a usable reply of the optimizer",
}


def edits_table(report: RunReport) -> Table:
    """Every proposed edit and its fate."""
    table = Table("step", "fate", "edit", "why", box=None, pad_edge=False, title="proposed edits", title_justify="left")
    for fate in report.edits:
        text = plain(" ".join(fate.edit.said.split()))
        fate_cell = Text(fate.fate, style={"accepted": "green", "rejected": "red"}.get(fate.fate, "yellow"))
        # `Text`, never a plain string: brackets in what a model wrote are no markup.
        table.add_row(str(fate.step), fate_cell, Text(_short(f"{fate.edit.op}: {text}")), Text(plain(fate.reason)))
    return table


def scores_table(report: RunReport, harness: str) -> Table:
    """Scores before and after, by split."""
    table = Table("split", "before", "after", "tasks", box=None, pad_edge=False, title=f"scores ({harness})")
    table.title_justify = "left"
    for name, pair in (("selection", report.selection), ("test (sealed)", report.test)):
        if pair.before and pair.after:
            tasks = f"{pair.after.n} of {pair.after.of}"
            table.add_row(name, _figure(pair.before.score), _figure(pair.after.score), tasks)
    return table


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _short(text: str, width: int = 90) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
