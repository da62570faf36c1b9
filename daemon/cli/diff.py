"""`honed diff`: what differs in the skill's folder between two commits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from daemon.cli.history_parts import one_line
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.which_skill import WordsCommand, history_of, is_skill
from daemon.plain import plain
from skills_repo.diff import diff
from skills_repo.history import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from skills_repo.diff import FileDiff
    from skills_repo.repository import SkillRepository

_COLOURS = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("diff", cls=WordsCommand)(diff_verb)


def diff_verb(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SKILL] [A] [B]",
            help="Two commits, branches or tags; before them the skill, where it is another than honed.toml's.",
            show_default="HEAD and the branch honed/<skill>",
        ),
    ] = None,
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what differs in the skill's folder between two commits: text by lines, other files by size.

    Control characters are shown, not sent to the terminal. Uncommitted changes are not looked at.

    Example: honed diff pdf-forms v1.2 main
    """
    if len(words or ()) > 3:
        raise typer.BadParameter("give at most a skill and two commits (honed diff SKILL A B)")
    output = Output(as_json=as_json)
    run(output, lambda: _diff_words(output, config, words or []))


async def _diff_words(output: Output, config: Path, words: list[str]) -> None:
    """Sort out which word is what: a skill comes first, a word that is skill and commit is a commit."""
    skill = words[0] if len(words) == 3 or (words and await is_skill(config, words[0])) else None
    ends = words if skill is None else words[1:]
    await _diff(output, config, ends[0] if ends else "HEAD", ends[1] if len(ends) > 1 else None, skill)


async def _diff(output: Output, config: Path, before: str, after: str | None, skill: str | None = None) -> None:
    history = await history_of(config, skill)
    ends = [await history.resolve(before), await _branch(history) if after is None else await history.resolve(after)]
    old, new = [await history.files(end) for end in ends]
    if not old and not new:
        msg = f"there is no folder {history.skill_path} in either commit (mend [skill] path)"
        raise RepositoryError(msg)
    files = diff(old, new)
    output.result(
        {"skill": history.skill_path, "before": ends[0], "after": ends[1], "files": [_row(file) for file in files]},
        lambda console: _render(console, history.skill_path, ends, files),
    )


async def _branch(history: SkillRepository) -> str:
    try:
        return await history.resolve(history.branch)
    except RepositoryError as error:
        name = history.branch.removeprefix("refs/heads/")
        msg = f"there is no branch {name} (run `honed train`, or name two commits: `honed diff A B`)"
        raise RepositoryError(msg) from error


def _row(file: FileDiff) -> dict[str, Any]:
    return {
        "path": file.path.encode("utf-8", "replace").decode(),
        "change": file.change,
        "kind": file.kind,
        "modes": [file.old_mode, file.new_mode],
        "bytes": [file.old_size, file.new_size],
        "added": file.added,
        "removed": file.removed,
        "lines": list(file.lines),
    }


def _render(console: Console, skill: str, ends: Sequence[str], files: Sequence[FileDiff]) -> None:
    between = f"{skill}, {ends[0][:10]} to {ends[1][:10]}"
    if not files:
        console.print(Text(plain(f"{between}: no difference")))
        return
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    counted = "1 file" if len(files) == 1 else f"{len(files)} files"
    console.print(Text(plain(f"{between}: {counted}, +{added} -{removed} lines"), style="bold"))
    for file in files:
        console.print()
        console.print(Text(one_line(_title(file)), style="bold"), soft_wrap=True)
        for line in file.lines:
            console.print(Text(plain(line.expandtabs(4)), style=_COLOURS.get(line[:1], "")), soft_wrap=True)


def _title(file: FileDiff) -> str:
    """What became of a file, in one line."""
    words: list[str] = [file.change]
    if file.change == "changed" and file.old_mode != file.new_mode:
        words.append(f"mode {file.old_mode} -> {file.new_mode}")
    if file.kind != "text":
        words.append(f"{file.kind} file" if file.kind in ("binary", "large") else file.kind)
    sizes = {"added": f"{file.new_size:,}", "deleted": f"{file.old_size:,}"}
    if file.old_size != file.new_size or file.kind in ("binary", "large"):
        words.append(sizes.get(file.change, f"{file.old_size:,} -> {file.new_size:,}") + " bytes")
    path = file.path.encode("utf-8", "replace").decode()
    return f"{path}: {', '.join(words)}"
