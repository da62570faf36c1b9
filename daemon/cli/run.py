"""Runs a verb's coroutine: signals become one cancellation, known errors one line and an exit code.

Exit codes: 0 done; 1 the job could not be done (what the system refuses and faults of honed among it); 2 bad input
(configuration, tasks, skill, repository, usage); 3 stopped by a provider or the sandbox; 4 stopped by the budget;
130 interrupted.
"""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import structlog
import typer

from daemon.budget.reached import BudgetReached
from daemon.config import ConfigError
from daemon.journal.journal import JournalError
from daemon.rollouts.stop import RunStopped
from daemon.setup.errors import SetupError
from daemon.tasks.task import TaskError
from harnesses.clis import CliError
from sandboxes.gateway.policy import ProviderError
from sandboxes.sandbox import SandboxError
from skills_repo.history import RepositoryError
from skills_repo.publish.errors import PublishError
from skills_repo.skill import SkillError

if TYPE_CHECKING:
    from daemon.cli.output import Output

FAILED, BAD_INPUT, STOPPED, SPENT, INTERRUPTED = 1, 2, 3, 4, 130

log = structlog.get_logger(__name__)

_EXIT_CODES: dict[type[Exception], tuple[str, int]] = {
    ConfigError: ("config", BAD_INPUT),
    TaskError: ("tasks", BAD_INPUT),
    SkillError: ("skill", BAD_INPUT),
    RepositoryError: ("repository", BAD_INPUT),
    JournalError: ("journal", FAILED),
    SetupError: ("setup", FAILED),
    CliError: ("setup", FAILED),
    PublishError: ("publish", FAILED),
    ProviderError: ("provider", STOPPED),
    SandboxError: ("sandbox", STOPPED),
    RunStopped: ("stopped", STOPPED),
    BudgetReached: ("budget", SPENT),
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
    except OSError as error:
        if error.errno == errno.EPIPE:  # whoever read our output has gone: nobody to tell
            raise
        place = f"{error.filename}: " if error.filename else ""
        output.error("system", f"{place}{error.strerror or error} (check the path, its permissions and the disk)")
        raise typer.Exit(FAILED) from None
    except Exception as error:
        log.exception("a fault of honed")
        what = " ".join(f"{type(error).__name__}: {error}".split())
        output.error("internal", f"a fault of honed: {what}: please report it with the lines above")
        raise typer.Exit(FAILED) from None
    if code:
        raise typer.Exit(code)


async def _with_signals(work: Callable[[], Coroutine[Any, Any, int | None]]) -> int | None:
    """The first SIGTERM or SIGINT cancels the work, so that sandboxes are stopped; a SIGINT after it ends at once.

    A second SIGTERM does nothing: supervisors repeat it, and a second cancel would break the clearing up.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work())
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            loop.remove_signal_handler(signal.SIGINT)
            task.cancel()

    loop.add_signal_handler(signal.SIGINT, stop)
    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
