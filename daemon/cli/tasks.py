"""`honed tasks`: check a task set, and split it."""

from __future__ import annotations

import typer

from daemon.cli.tasks_check import check_tasks
from daemon.cli.tasks_split import split_tasks


def register(app: typer.Typer) -> None:
    """Add the verb and its two parts."""
    group = typer.Typer(
        no_args_is_help=True,
        help="Check a task set before money is spent on it, and split it.\n\nExample: honed tasks check",
    )
    group.command("check")(check_tasks)
    group.command("split")(split_tasks)
    app.add_typer(group, name="tasks")
