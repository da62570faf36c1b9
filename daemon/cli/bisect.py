"""`honed bisect`: which commit lost a task, or the score."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from daemon.checking.bisect import BisectReport, Searcher
from daemon.checking.judge import rule_of
from daemon.cli.history_parts import commit_data, one_line, say_commit, trailer_rows
from daemon.cli.log import MOST
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.cli.which_skill import SkillName, must_be_own
from daemon.config import load_config
from daemon.preflight import check_target
from daemon.wiring import open_parts
from skills_repo.curve import curves
from skills_repo.history import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from skills_repo.history import SkillCommit
    from skills_repo.repository import SkillRepository


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("bisect")(bisect_verb)


def bisect_verb(
    skill: SkillName = None,
    *,
    good: Annotated[
        str | None,
        typer.Option(
            "--good", help="Where it was well.", show_default="what the newest run on the branch started from"
        ),
    ] = None,
    bad: Annotated[
        str | None, typer.Option("--bad", help="Where it is not.", show_default="honed/<skill>, else HEAD")
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="A train or selection task that was lost (else: the selection score).")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, max=50, help="Trials of each task: more where the agent wavers.")] = 1,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Find the commit of the skill that lost a task, or the score: `git bisect`, with an evaluation as its test.

    Both ends are measured first; a commit is bad below the middle of their scores. Runs beside your repository, which
    sees nothing of it. Equal content is never measured twice.

    Example: honed bisect --good v1.2 --task invoice-7 --trials 3
    """
    output = Output(as_json=as_json)
    run(output, lambda: _bisect(output, config, (good, bad), task, trials, skill=skill))


async def _bisect(
    output: Output,
    file: Path,
    names: tuple[str | None, str | None],
    task: str | None,
    trials: int,
    *,
    skill: str | None = None,
) -> None:
    config = load_config(file)
    await must_be_own(config, skill)
    async with open_parts(config, progress(output), optimizer=False) as parts:
        for line in parts.loud:
            output.warn(line)
        history = parts.history
        bad = await history.resolve(names[1]) if names[1] else await history.base()
        good = await history.resolve(names[0]) if names[0] else await _start(history)
        await check_target(parts.canary, parts.state / "attempts")
        searcher = Searcher(
            parts.rollouts,
            parts.journal,
            parts.tasks,
            rule_of(config.train),
            history,
            trials=trials,
            purse=parts.purse,
        )
        report = await searcher.search(good, bad, task)
        commits = {sha: await history.commit(sha) for sha in {look.commit for look in report.looks} | {*report.found}}
    output.result(
        {"skill": config.skill.path, "good": good, "bad": bad, "task": task, **_data(report, commits)},
        lambda console: _render(console, report, commits),
    )


async def _start(history: SkillRepository) -> str:
    """The commit that the newest run on the branch began at."""
    runs = curves(await history.log(MOST))
    parents = runs[-1].points[0].commits[0].parents if runs else ()
    if not parents:
        msg = "the branch has no run to search: say where it was well (--good COMMIT)"
        raise RepositoryError(msg)
    return parents[0]


def _data(report: BisectReport, commits: Mapping[str, SkillCommit]) -> dict[str, Any]:
    return {
        "bar": report.bar,
        "found": [commit_data(commits[sha]) for sha in report.found],
        "looks": [{"commit": look.commit, "word": look.word, "score": look.score} for look in report.looks],
    }


def _render(console: Console, report: BisectReport, commits: Mapping[str, SkillCommit]) -> None:
    table = Table("commit", "score", "", "subject", box=None, pad_edge=False)
    for look in report.looks:
        score = "-" if look.score is None else f"{look.score:.3f}"
        table.add_row(look.commit[:10], score, look.word, Text(one_line(commits[look.commit].subject, width=60)))
    console.print(table)
    if len(report.found) == 1:
        console.print("[bold]lost by:[/]")
    else:
        console.print("[bold]lost by one of these (the ones between could not be measured):[/]")
    for sha in report.found:
        console.print(say_commit(commits[sha]))
        for name, text in trailer_rows(commits[sha]):
            console.print(Text(f"             {name:<9} {one_line(text)}"))
    console.print(f"take it back with `honed revert {report.found[0][:10]}`")
