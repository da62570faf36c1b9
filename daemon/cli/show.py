"""`honed show`: what a run decided, and why, read back from the journal alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.cli.show_data import run_data, step_data
from daemon.cli.show_run import render_run
from daemon.cli.show_step import render_step
from daemon.config import load_config
from daemon.journal.journal import JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.places import state_folder
from daemon.readback.find import find_run
from daemon.readback.run import RunView, read_run
from daemon.readback.step import StepView, read_step

if TYPE_CHECKING:
    from daemon.journal.journal import Journal


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("show")(show)


def show(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or the beginning of it, or `latest`.")],
    step: Annotated[int | None, typer.Argument(min=1, help="One step of it, from 1.")] = None,
    *,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show everything that a run, or one step of it, decided: batches, patches, merges, ranking, edits, gate, costs.

    Reads the journal alone, also while the run goes on. The sealed test is told by its figures, never by task.

    Example: honed show latest 3
    """
    output = Output(as_json=as_json)
    run(output, lambda: _show(output, config, run_id, step))


async def _show(output: Output, config: Path, name: str, number: int | None) -> None:
    settings = load_config(config)
    journal = SqliteJournal(state_folder(settings) / "journal.sqlite", read_only=True)
    try:
        found = await read_run(journal, await find_run(journal, name, settings.skill.path))
        if number is None:
            output.result(run_data(found), lambda console: render_run(console, found))
        else:
            view = await _step(journal, found, number)
            output.result(step_data(found, view), lambda console: render_step(console, found, view))
    finally:
        await journal.close()


async def _step(journal: Journal, found: RunView, number: int) -> StepView:
    decision = found.step(number)
    if decision is None:
        decided = f"steps 1 to {found.steps[-1].step} are" if found.steps else "none is"
        msg = f"step {number} of run {found.run.run_id} is not decided: {decided}"
        raise JournalError(msg)
    return await read_step(journal, found, decision)
