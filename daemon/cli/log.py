"""`honed log`: the learning curve, read from git alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.history_parts import commit_data, one_line, phase_name, say_commit, short, trailer_rows
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.rejected import list_rejected
from daemon.cli.run import run
from daemon.cli.which_skill import SkillName, history_of
from skills_repo.curve import curves, sparkline, taken_back

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from skills_repo.curve import Point, RunCurve
    from skills_repo.history import SkillCommit

MOST = 20_000
"""Commits that the curve is drawn from."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("log")(log)


def log(
    skill: SkillName = None,
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many commits are listed at most.")] = 50,
    rejected: Annotated[bool, typer.Option("--rejected", help="List the edits that were turned down instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the skill's learning curve, run by run, and its commits, newest first.

    Each edit with what it changed in the score and on which evidence; reverts with their reason. Reads commits and
    their trailers, no database. The curve is drawn from all of them, however few are listed.

    Example: honed log pdf-forms -n 10
    """
    output = Output(as_json=as_json)
    run(output, lambda: _log(output, config, limit, skill, rejected=rejected))


async def _log(output: Output, config: Path, limit: int, skill: str | None = None, *, rejected: bool = False) -> None:
    history = await history_of(config, skill)
    if rejected:
        await list_rejected(output, history, limit)
        return
    commits = await history.log(MOST)
    shown, back, runs = commits[:limit], taken_back(commits), curves(commits)
    output.result(
        {
            "skill": history.skill_path,
            "commits": [_row(commit, back) for commit in shown],
            "curve": [_curve_row(curve, back) for curve in runs],
        },
        lambda console: _render(console, shown, runs, back, {commit.sha: commit for commit in commits}),
    )


def _row(commit: SkillCommit, back: Mapping[str, SkillCommit]) -> dict[str, Any]:
    return {**commit_data(commit), "reverted_by": back[commit.sha].sha if commit.sha in back else None}


def _curve_row(curve: RunCurve, back: Mapping[str, SkillCommit]) -> dict[str, Any]:
    return {"run": curve.run, "points": [_point_row(point, back) for point in curve.points]}


def _point_row(point: Point, back: Mapping[str, SkillCommit]) -> dict[str, Any]:
    figures = point.figures
    return {
        "step": point.step,
        "phase": point.phase,
        "when": point.when,
        "rule": figures.rule if figures else None,
        "before": figures.before if figures else None,
        "after": figures.after if figures else None,
        "standard_error": figures.standard_error if figures else None,
        "tasks": figures.tasks if figures else None,
        "trials": figures.trials if figures else None,
        "valid": figures.valid if figures else None,
        "commits": [commit.sha for commit in point.commits],
        "reverted": [commit.sha for commit in point.commits if commit.sha in back],
    }


def _render(
    console: Console,
    commits: Sequence[SkillCommit],
    runs: Sequence[RunCurve],
    back: Mapping[str, SkillCommit],
    known: Mapping[str, SkillCommit],
) -> None:
    if not commits:
        console.print("no commits on the skill's branch yet: run `honed train`")
        return
    for curve in runs:
        console.print(_curve_line(curve, back))
    if runs:
        console.print()
    for commit in commits:
        console.print(say_commit(commit))
        for name, text in _details(commit, known, back):
            console.print(Text.assemble(f"             {name:<9} ", one_line(text)))


def _curve_line(curve: RunCurve, back: Mapping[str, SkillCommit]) -> Text:
    """A run in one line: bars, first and last score, and what happened besides steps."""
    scores = curve.scores
    steps = sum(point.phase == "step" for point in curve.points)
    words = [f"{steps} accepted {'step' if steps == 1 else 'steps'}"]
    words += [phase_name(point.phase) for point in curve.points if point.phase == "initial"]
    slow = sum(point.phase == "slow_update" for point in curve.points)
    words += [f"{slow} slow {'update' if slow == 1 else 'updates'}"] if slow else []
    undone = sum(commit.sha in back for point in curve.points for commit in point.commits)
    words += [f"{undone} {'edit' if undone == 1 else 'edits'} taken back"] if undone else []
    line = Text.assemble("run ", (one_line(curve.run, width=40), "bold"), " ")
    if scores:
        line.append(sparkline(scores), style="cyan")
        line.append(f" {scores[0]:.3f} -> {scores[-1]:.3f}")
    return line.append(f" ({', '.join(words)})")


def _details(
    commit: SkillCommit, known: Mapping[str, SkillCommit], back: Mapping[str, SkillCommit]
) -> list[tuple[str, str]]:
    """Below a commit's subject: name and text of each line."""
    found = trailer_rows(commit)
    if commit.reverts:
        target = known.get(commit.reverts)
        found.append(("reverts", f"{commit.reverts[:10]} {target.subject if target else ''}"))
        found.append(("reason", commit.reason or "none given"))
    if commit.sha in back:
        found.append(("reverted", f"by {short(back[commit.sha])}"))
    return found
