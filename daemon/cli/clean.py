"""`honed clean`: what honed left on the disk and nobody needs, removed."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import FAILED, run
from daemon.config import load_config
from daemon.housekeeping.house import Report, keep_house
from daemon.journal.lock import state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.places import state_folder
from sandboxes.sandbox import MIB

if TYPE_CHECKING:
    from rich.console import Console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("clean")(clean)


def clean(
    config: ConfigFile = DEFAULT_CONFIG,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compress and remove what attempts left, as [retention] says, and give the journal's free room back.

    `honed train` does the same when it ends. Nothing that a run needs is removed: scores, decisions and replies are in
    the journal, which stays whole.

    Example: honed clean --dry-run
    """
    output = Output(as_json=as_json)
    run(output, lambda: _clean(output, config, dry=dry_run))


async def _clean(output: Output, file: Path, *, dry: bool) -> int:
    config = load_config(file)
    state = state_folder(config)
    report = Report()
    if (state / "journal.sqlite").exists():
        with nullcontext() if dry else state_lock(state):
            journal = SqliteJournal(state / "journal.sqlite", read_only=dry)
            try:
                report = await keep_house(state, config.retention, time.time(), journal=journal, alone=True, dry=dry)
            finally:
                await journal.close()
    output.result(_data(report, state, dry=dry), lambda console: _render(console, report, dry=dry))
    return FAILED if report.problems else 0


def _data(report: Report, state: Path, *, dry: bool) -> dict[str, Any]:
    return {
        "state": str(state),
        "dry_run": dry,
        "compressed": report.packed,
        "removed": report.pruned,
        "scratch": report.scratch,
        "attempts_bytes": {"before": report.attempts_before, "after": report.attempts_after},
        "journal_bytes_freed": report.journal_freed,
        "problems": report.problems,
    }


def _render(console: Console, report: Report, *, dry: bool) -> None:
    would = "would be " if dry else ""
    by_age = sum(why == "age" for why in report.pruned.values())
    console.print(
        f"attempts: {len(report.packed)} {would}compressed, {len(report.pruned)} {would}removed ({by_age} by age)"
    )
    console.print(f"scratch: {len(report.scratch)} {would}removed")
    size = f"{report.attempts_after / MIB:,.0f} MiB"
    console.print(
        f"attempts take {size}" + ("" if dry else f"; the journal gave {report.journal_freed / MIB:,.0f} MiB back")
    )
    for problem in report.problems:
        console.print(problem, markup=False, style="yellow")
