"""Runs a verb's coroutine: signals become one cancellation, known errors one line and an exit code.

Exit codes: 0 done; 1 the job could not be done; 2 bad input (configuration, tasks, skill, repository, usage);
3 stopped by a provider or the sandbox; 130 interrupted.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import typer

from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.rollouts.stop import RunStopped
from daemon.setup.errors import SetupError
from daemon.tasks.task import TaskError
from harnesses.clis import CliError
from sandboxes.gateway.policy import ProviderError
from sandboxes.sandbox import SandboxError
from skills_repo.history import RepositoryError
from skills_repo.skill import SkillError

if TYPE_CHECKING:
    from daemon.cli.output import Output

BAD_INPUT, STOPPED, INTERRUPTED = 2, 3, 130

_EXIT_CODES: dict[type[Exception], tuple[str, int]] = {
    ConfigError: ("config", BAD_INPUT),
    TaskError: ("tasks", BAD_INPUT),
    SkillError: ("skill", BAD_INPUT),
    RepositoryError: ("repository", BAD_INPUT),
    JournalError: ("journal", 1),
    SetupError: ("setup", 1),
    CliError: ("setup", 1),
    ProviderError: ("provider", STOPPED),
    SandboxError: ("sandbox", STOPPED),
    RunStopped: ("stopped", STOPPED),
}


def run(output: Output, work: Callable[[], Coroutine[Any, Any, int | None]]) -> None:
    """Run `work()` to its end and leave with its exit code."""
    try:
        code = asyncio.run(_with_signals(work))
    except (KeyboardInterrupt, asyncio.CancelledError):
        output.error("interrupted", "interrupted; the same command goes on where it stopped")
        raise typer.Exit(INTERRUPTED) from None
    except tuple(_EXIT_CODES) as error:
        kind, code = next(row for cls, row in _EXIT_CODES.items() if isinstance(error, cls))
        output.error(kind, str(error))
        raise typer.Exit(code) from None
    if code:
        raise typer.Exit(code)


async def _with_signals(work: Callable[[], Coroutine[Any, Any, int | None]]) -> int | None:
    """SIGTERM and the first SIGINT cancel the work, so that sandboxes are stopped; a second SIGINT ends at once."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work())

    def stop() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
