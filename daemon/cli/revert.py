"""`honed revert`: take accepted edits back, on the skill's own branch."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from daemon.cli.history_parts import one_line, short
from daemon.cli.log import MOST
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import load_config
from daemon.places import open_history
from skills_repo.curve import taken_back
from skills_repo.history import RepositoryError
from skills_repo.naming import commits_of_step, is_step
from skills_repo.revert import revert

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from skills_repo.history import SkillCommit
    from skills_repo.repository import SkillRepository


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("revert")(revert_verb)


def revert_verb(
    what: Annotated[
        str,
        typer.Argument(
            metavar="STEP|COMMIT",
            help="A step of the newest run (3), one of its edits (3.2), of another run (RUN/3), "
            "a slow update (slow_update:4), or a commit.",
        ),
    ],
    *,
    reason: Annotated[
        str, typer.Option("--reason", "-m", help="Why, for the message: people and later runs read it.")
    ] = "",
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Take a step or a commit of the skill back: one revert commit for each edit, on the branch honed/<skill>.

    Your working tree and index are not touched. What no longer fits is refused, with the plain git command.

    Example: honed revert 3.2 --reason "breaks the monthly report"
    """
    output = Output(as_json=as_json)
    run(output, lambda: _revert(output, config, what, reason))


async def _revert(output: Output, config: Path, what: str, reason: str) -> None:
    history = open_history(load_config(config))
    await history.check_writable()
    commits = await _commits(history, what)
    made = await revert(history, commits, reason=reason, when=time.time())
    branch = history.branch.removeprefix("refs/heads/")
    pairs = list(zip(reversed(commits), made, strict=True))
    output.result(
        {
            "branch": branch,
            "reverted": [commit.sha for commit, _ in pairs],
            "commits": list(made),
            "reason": reason,
        },
        lambda console: _render(console, branch, pairs),
    )


async def _commits(history: SkillRepository, what: str) -> Sequence[SkillCommit]:
    """What is meant, oldest first, without what is taken back already."""
    log = await history.log(MOST)
    back = taken_back(log)
    found = commits_of_step(what, log) if is_step(what) else [await history.commit(await history.resolve(what))]
    left = [commit for commit in found if commit.sha not in back]
    if not left:
        done = back[found[-1].sha]
        msg = f"{what} is taken back already, by {done.sha[:10]} (to have it again: `honed revert {done.sha[:10]}`)"
        raise RepositoryError(msg)
    return left


def _render(console: Console, branch: str, pairs: Sequence[tuple[SkillCommit, str]]) -> None:
    for commit, made in pairs:
        console.print(Text(f"{made[:10]} takes back {one_line(short(commit))}"))
    noun = "commit" if len(pairs) == 1 else "commits"
    console.print(f"{len(pairs)} {noun} on {branch}: review with `git diff HEAD {branch}`")
