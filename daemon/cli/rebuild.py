"""`honed rebuild`: a lost journal's runs and accepted steps, out of git."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from daemon.cli.history_parts import one_line
from daemon.cli.log import MOST
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.config import load_config
from daemon.journal.journal import JournalError
from daemon.journal.lock import state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.places import open_history, state_folder
from daemon.readback.rebuild import LOST, Rebuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from daemon.readback.rebuild import RebuiltRun

_ASIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite keeps beside a file; a new file beside an old log would be filled from it."""


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("rebuild")(rebuild)


def rebuild(config: ConfigFile = DEFAULT_CONFIG, *, as_json: AsJson = False) -> None:
    """Rebuild a lost journal from the skill's commits: runs, and accepted steps with their figures and edits.

    Never writes over a journal that is there. Rebuilt runs are marked, and nobody goes on with them; attempts, replies,
    rejected steps and costs are not in git and stay lost.

    Example: honed rebuild && honed show latest
    """
    output = Output(as_json=as_json)
    run(output, lambda: _rebuild(output, config))


async def _rebuild(output: Output, config: Path) -> None:
    settings = load_config(config)
    path = state_folder(settings) / "journal.sqlite"
    _refuse(path)
    history = open_history(settings)
    runs = await Rebuilder(history, settings.skill.path).runs(MOST)
    if runs:
        with state_lock(path.parent):
            _refuse(path)
            path.parent.joinpath(".gitignore").write_text("*\n", encoding="utf-8")
            await _write(path, runs)
    data = {"skill": settings.skill.path, "journal": str(path) if runs else None, "runs": [_row(one) for one in runs]}
    output.result(data, lambda console: _render(console, path, runs))


def _refuse(path: Path) -> None:
    """Raise `JournalError` if there is a journal, or a part of one."""
    parts = [there for end in _ASIDE if (there := path.with_name(path.name + end)).exists()]
    if parts:
        what = f"there is a journal at {path}" if parts[0] == path else f"a part of a journal is left at {parts[0]}"
        away = path.with_name("journal.old")  # a log that is parted from its database is lost to it
        move = f"{shlex.join(['mkdir', str(away)])} && {shlex.join(['mv', *map(str, parts), f'{away}/'])}"
        raise JournalError(f"{what}: nothing is written over it (move it away first: `{move}`)")


async def _write(path: Path, runs: Sequence[RebuiltRun]) -> None:
    """Write the whole journal under another name, then give it its own: a rebuild that was killed leaves none."""
    made = path.with_name("journal.rebuilding")
    for end in _ASIDE:
        made.with_name(made.name + end).unlink(missing_ok=True)
    journal = SqliteJournal(made)
    try:
        for one in runs:
            await journal.open_run(replace(one.run, state="open"))
            for decision in one.decisions:
                await journal.save_decision(decision)
            await journal.end_run(one.run.run_id, one.run.state)
    finally:
        await journal.close()
    made.rename(path)


def _row(one: RebuiltRun) -> dict[str, Any]:
    scores = one.curve.scores
    return {
        "run": one.run.run_id,
        "started": one.run.started,
        "base_commit": one.run.base_commit,
        "steps": [point.step for point in one.curve.points if point.phase == "step"],
        "slow_updates": [point.step for point in one.curve.points if point.phase == "slow_update"],
        "before": scores[0] if scores else None,
        "after": scores[-1] if scores else None,
    }


def _render(console: Console, path: Path, runs: Sequence[RebuiltRun]) -> None:
    if not runs:
        console.print("no commits of honed on the skill's branch: nothing to rebuild, nothing was written")
        return
    for one in runs:
        row = _row(one)
        scores = "" if row["after"] is None else f", {row['before']:.3f} -> {row['after']:.3f}"
        steps = "1 step" if len(row["steps"]) == 1 else f"{len(row['steps'])} steps"
        slow = f", {len(row['slow_updates'])} slow updates" if row["slow_updates"] else ""
        console.print(Text(f"run {one_line(one.run.run_id, width=40)}: {steps}{slow}{scores}"))
    noun = "run" if len(runs) == 1 else "runs"
    console.print(Text(f"{len(runs)} {noun} rebuilt in {path}, marked as such (see `honed show latest`)"))
    console.print(f"lost, for git does not hold them: {LOST}")
