"""`honed daemon`: keep the skills of this machine sharp until told to stop."""

from __future__ import annotations

import signal
from pathlib import Path

import typer

from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.run import run
from daemon.housekeeping.memory import share_one_heap
from daemon.service.service import serve


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("daemon")(daemon)


def daemon(config: ConfigFile = DEFAULT_CONFIG, as_json: AsJson = False) -> None:
    """Watch skills, tasks, configuration and git, and train whenever something gives a reason to; never ends by itself.

    Ask it with `honed status`. SIGTERM lets running attempts finish (a second one stops at once), SIGHUP reads the
    configuration again. Killed at any moment and started again, it goes on where it was.

    Example: honed daemon --config honed.toml
    """
    output = Output(as_json=as_json)
    share_one_heap()
    _ignore(signal.SIGHUP)  # until the daemon hears it, all is read anyway
    run(output, lambda: _serve(output, config), signals=False)


async def _serve(output: Output, file: Path) -> None:
    await serve(file)
    _ignore(signal.SIGTERM, signal.SIGINT, signal.SIGHUP)  # it has ended: what comes now must not change its exit code
    output.result({"stopped": True}, lambda console: console.print("stopped"))


def _ignore(*numbers: signal.Signals) -> None:
    """By a handler, for what is ignored by the system would be so in every child, too."""
    for number in numbers:
        signal.signal(number, lambda _number, _frame: None)
