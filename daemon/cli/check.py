"""`honed check`: does a change of a skill lower its score? For continuous integration."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from daemon.checking.judge import CheckReport, check, unmeasured
from daemon.checking.reports import junit, markdown
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.config import load_config
from daemon.places import open_history
from daemon.plain import plain
from daemon.preflight import check_target
from daemon.tasks.published import split_told
from daemon.wiring import open_parts

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.config import Config
    from skills_repo.skill import Skill


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("check")(check_verb)


def check_verb(
    ref: Annotated[str, typer.Argument(metavar="REF", help="The changed skill: commit, branch or tag.")] = "HEAD",
    *,
    base: Annotated[
        str | None, typer.Option("--base", help="What it is compared with.", show_default="REF~1, its first parent")
    ] = None,
    junit_file: Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML to this file too.")] = None,
    markdown_file: Annotated[
        Path | None, typer.Option("--markdown", help="Write a comment for a pull request to this file too.")
    ] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Say whether a change of the skill lowers its score on the selection split; exit code 1 if it does.

    By the gate of honed.toml, turned round: the change is called worse where the gate would keep the old skill over it,
    and where a protected task breaks. Too few valid results are exit code 1 too. Changes nothing.

    Example: honed check HEAD --base origin/main --junit check.xml
    """
    output = Output(as_json=as_json)
    files = {"junit": junit_file, "markdown": markdown_file}
    run(output, lambda: _check(output, config, (base or f"{ref}~1", ref), files))


async def _check(output: Output, file: Path, names: tuple[str, str], files: dict[str, Path | None]) -> int:
    config = load_config(file)
    history = open_history(config)
    old, new = await history.resolve(names[0]), await history.resolve(names[1])
    after = await history.read(new)
    before = await history.read(old) if await history.files(old) else None
    report, split_digest = unmeasured(before, after), ""
    if report is None:
        assert before is not None
        report, split_digest = await _measured(output, config, (before, after), new)
    path, ends = config.skill.path, (old, new)
    texts = {
        "junit": junit(report, path, split_digest),
        "markdown": markdown(report, path, ends, split_digest),
    }
    for kind, target in files.items():
        if target is not None:
            target.write_text(texts[kind], encoding="utf-8")
    data = {**check_data(report, path, ends), "split_digest": split_digest}
    output.result(data, lambda console: _render(console, report, path, ends, split_digest))
    return 0 if report.passed else 1


async def _measured(
    output: Output, config: Config, skills: tuple[Skill, Skill], commit: str
) -> tuple[CheckReport, str]:
    """The report, and the digest of the split that it was measured on."""
    async with open_parts(config, progress(output), optimizer=False) as parts:
        for line in parts.loud:
            output.warn(line)
        await check_target(parts.canary, parts.state / "attempts")
        report = await check(
            parts.rollouts,
            parts.journal,
            parts.tasks,
            config.train,
            before=skills[0],
            after=skills[1],
            path=config.skill.path,
            commit=commit,
            purse=parts.purse,
        )
        return report, parts.tasks.split_digest


def check_data(report: CheckReport, skill: str, ends: tuple[str, str]) -> dict[str, Any]:
    """The machine-readable result."""
    commits = {"base": ends[0], "commit": ends[1]}
    return {"skill": skill, **commits, "passed": report.passed, "split": "selection", **asdict(report)}


def _render(console: Console, report: CheckReport, skill: str, ends: tuple[str, str], split_digest: str) -> None:
    if report.rows:
        table = Table("task", "before", "trials", "after", "trials", "", box=None, pad_edge=False)
        for row in report.rows:
            word = "broken" if row.id in report.broken else "fixed" if row.id in report.fixed else ""
            word += ", protected" if row.protect else ""
            cells = (_figure(row.before), str(row.before_trials), _figure(row.after), str(row.after_trials))
            table.add_row(Text(plain(row.id)), *cells, word.removeprefix(", "))
        console.print(table)
    if report.delta is not None:
        error = "" if report.standard_error is None else f" ± {report.standard_error:.3f}"
        delta = report.delta + 0.0  # never "-0.000"
        change = f"{_figure(report.before)} -> {_figure(report.after)} ({delta:+.3f}{error})"
        console.print(f"{change} on {report.tasks} of {report.of} selection tasks")
    if report.alone:
        console.print(report.alone)
    if split_digest:
        console.print(Text(split_told(split_digest)))
    style = "green" if report.passed else "bold red"
    console.print(Text(plain(f"{skill}, {ends[0][:10]} to {ends[1][:10]}: {report.reason}"), style=style))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
