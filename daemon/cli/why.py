"""`honed why`: what stands behind a line of a skill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.history_parts import (
    commit_data,
    day,
    figures_data,
    lines_of,
    one_line,
    say_commit,
    scores_text,
    trailer_rows,
)
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.which_skill import WordsCommand, history_of
from skills_repo.figures import parse_gate
from skills_repo.history import RepositoryError
from skills_repo.skill import SKILL_FILE
from skills_repo.why import find_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from skills_repo.history import BlamedLine, SkillCommit, SkillHistory

_MOST_BODY = 60
"""Lines of a commit's message that are shown."""


class _Why(WordsCommand):
    """A line of a list, such as `- one`, is a text to find and no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put such a text behind `--`, unless it stands there or is an option's value."""
        for position, word in enumerate(args):
            if word == "--":
                break
            if word.startswith("- ") and (
                position == 0 or args[position - 1] not in ("--config", "-c", "--ref", "--file")
            ):
                args = [*args[:position], *args[position + 1 :], "--", word]
                break
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("why", cls=_Why)(why)


def why(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[SKILL] LINE",
            help="A line's number, or a piece of its text; before it the skill, where it is another than honed.toml's.",
        ),
    ],
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    ref: Annotated[
        str | None, typer.Option("--ref", help="Commit, branch or tag (default: honed/<skill>, else HEAD).")
    ] = None,
    file: Annotated[str, typer.Option("--file", help="Another file of the skill's folder.")] = SKILL_FILE,
    as_json: AsJson = False,
) -> None:
    """Say who wrote a line of the skill, and why: the edit, its reasons, its evidence and what it did to the score.

    Blanks and case do not matter in a piece of text; it may go over several lines. A person's line says so.

    Example: honed why 12
    """
    if len(words) > 2:
        raise typer.BadParameter('give one LINE, a text in quotes (honed why "keep the header")')
    output = Output(as_json=as_json)
    skill = words[0] if len(words) == 2 else None
    run(output, lambda: _why(output, config, words[-1], ref, file, skill=skill))


async def _why(
    output: Output, config: Path, line: str, ref: str | None, file: str, *, skill: str | None = None
) -> None:
    history = await history_of(config, skill)
    commit = await history.resolve(ref) if ref else await history.base()
    text = await _text(history, commit, file)
    lines = text.split("\n")
    blamed = await history.blame(commit, file, find_lines(text, line, file=file))
    rows = [(one, lines[one.number - 1]) for one in blamed]
    output.result(
        {"skill": history.skill_path, "commit": commit, "file": file, "lines": [_row(*row) for row in rows]},
        lambda console: _render(console, f"{history.skill_path}/{file} at {commit[:10]}", rows),
    )


async def _text(history: SkillHistory, commit: str, file: str) -> str:
    found = {one.path: one for one in await history.files(commit)}
    if file not in found or found[file].mode not in ("100644", "100755"):
        known = ", ".join(path for path, one in found.items() if one.mode.startswith("100"))
        msg = f"the skill has no file {file!r} at {commit[:12]} (it has: {known or 'none'})"
        raise RepositoryError(msg)
    return found[file].data.decode("utf-8", "replace").replace("\r\n", "\n")


def _row(blamed: BlamedLine, text: str) -> dict[str, Any]:
    gate = parse_gate(blamed.commit.trailers.get("Honed-Gate", ""))
    return {
        "line": blamed.number,
        "text": text,
        "written_by": {"edit": "honed", "revert": "a revert", "human": "a person"}[blamed.commit.kind],
        "commit": {**commit_data(blamed.commit), "body": blamed.commit.body},
        "figures": figures_data(gate),
        "line_then": blamed.number_then,
        "history_cut": blamed.cut,
    }


def _render(console: Console, place: str, rows: Sequence[tuple[BlamedLine, str]]) -> None:
    console.print(Text(one_line(place), style="bold"))
    commits: dict[str, list[tuple[BlamedLine, str]]] = {}
    for row in rows:
        commits.setdefault(row[0].commit.sha, []).append(row)
    for found in commits.values():
        console.print()
        for blamed, text in found:
            console.print(Text.assemble((f"{blamed.number:>5} ", "cyan"), lines_of(text)[0]), soft_wrap=True)
        _say_why(console, found[0][0].commit)
        if any(blamed.cut for blamed, _ in found):
            console.print(
                "  this clone's history ends there: an older commit may have written it (git fetch --unshallow)"
            )


def _say_why(console: Console, commit: SkillCommit) -> None:
    console.print(Text("  ").append_text(say_commit(commit)))
    for name, text in _facts(commit):
        console.print(Text(f"  {name:<10} {one_line(text)}"))
    body = commit.body.rstrip().split("\n") if commit.body.strip() else []
    if body:
        console.print()
    for line in body[:_MOST_BODY]:
        console.print(Text(f"  {lines_of(line)[0]}".rstrip()))
    if len(body) > _MOST_BODY:
        console.print(Text(f"  … {len(body) - _MOST_BODY} more lines: git show {commit.sha[:10]}"))


def _facts(commit: SkillCommit) -> list[tuple[str, str]]:
    """What is known beside the message."""
    by = {"edit": "honed", "revert": "a revert: the line is back", "human": "a person"}[commit.kind]
    facts = [("written by", f"{by} ({commit.author}, {day(commit.when)})")]
    facts += [(name, text) for name, text in trailer_rows(commit) if name != "gate"]
    if "Honed-Optimizer" in commit.trailers:
        facts.append(("optimizer", commit.trailers["Honed-Optimizer"]))
    gate = commit.trailers.get("Honed-Gate", "")
    figures = parse_gate(gate)
    if figures is not None and figures.before is not None and figures.after is not None:
        error = "" if figures.standard_error is None else f" ± {figures.standard_error:.3f}"
        often = f" x {figures.trials} trials" if figures.trials > 1 else ""
        change = f"{figures.before:.3f} -> {figures.after:.3f} ({figures.after - figures.before:+.3f}{error})"
        facts.append(("score", f"{change} on {figures.tasks} {figures.split} tasks{often}, by {figures.rule}"))
        if figures.share is not None:
            facts.append(("its share", f"{figures.share:+.3f} of it, found by leaving this edit out"))
        if not commit.trailers.get("Honed-Step", "/1").endswith("/1"):
            facts.append(("", "the score is that of all edits of the step together"))
    elif gate:
        facts.append(("gate", scores_text(gate)))
    if commit.reverts:
        facts.append(("reverts", commit.reverts[:10]))
        facts.append(("reason", commit.reason or "none given"))
    return facts
