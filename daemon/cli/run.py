"""Runs a verb's coroutine: signals become one cancellation, known errors one line and an exit code.

Exit codes: 0 done; 1 the job could not be done (what the system refuses and faults of honed among it); 2 bad input
(configuration, tasks, skill, repository, usage); 3 stopped by a provider, the sandbox or a full disk; 4 stopped by the
budget; 130 interrupted.
"""

from __future__ import annotations

import asyncio
import errno
import signal
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import structlog
import typer

from daemon.kinds import kind_of
from daemon.no_room import REMEDY, no_room

if TYPE_CHECKING:
    from daemon.cli.output import Output

FAILED, BAD_INPUT, STOPPED, SPENT, INTERRUPTED = 1, 2, 3, 4, 130

log = structlog.get_logger(__name__)

_EXIT_CODES = {
    "config": BAD_INPUT,
    "tasks": BAD_INPUT,
    "skill": BAD_INPUT,
    "repository": BAD_INPUT,
    "journal": FAILED,
    "setup": FAILED,
    "publish": FAILED,
    "no-daemon": FAILED,
    "refused": FAILED,
    "daemon": FAILED,
    "provider": STOPPED,
    "sandbox": STOPPED,
    "stopped": STOPPED,
    "budget": SPENT,
}
"""By kind of error."""


def code_of(kind: str) -> int:
    """The exit code of a kind of error; of an unknown one that of a job that could not be done."""
    return _EXIT_CODES.get(kind, FAILED)


def run(output: Output, work: Callable[[], Coroutine[Any, Any, int | None]], *, signals: bool = True) -> None:
    """Run `work()` to its end and leave with its exit code; `signals` false: it heeds them itself."""
    try:
        code = asyncio.run(_with_signals(work) if signals else work())
    except (KeyboardInterrupt, asyncio.CancelledError):
        output.error("interrupted", "interrupted; the same command goes on where it stopped")
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        raise typer.Exit(_told(output, error)) from None
    if code:
        raise typer.Exit(code)


def _told(output: Output, error: Exception) -> int:
    """Say in one line what went wrong; returns the exit code."""
    while isinstance(error, ExceptionGroup):  # what stopped the others says why
        error = next((one for one in error.exceptions if kind_of(one)), error.exceptions[0])
    if kind := kind_of(error):
        full = code_of(kind) not in {STOPPED, SPENT} and no_room(error)  # a run that stopped says itself why
        output.error(kind, f"{error}: {REMEDY}" if full and "free some space" not in str(error) else str(error))
        return STOPPED if full else code_of(kind)
    if isinstance(error, OSError):
        if error.errno == errno.EPIPE:  # whoever read our output has gone: nobody to tell
            raise error
        place = f"{error.filename}: " if error.filename else ""
        if no_room(error):
            output.error("system", f"{place}{REMEDY}")
            return STOPPED
        output.error("system", f"{place}{error.strerror or error} (check the path, its permissions and the disk)")
        return FAILED
    log.error("a fault of honed", exc_info=error)
    what = " ".join(f"{type(error).__name__}: {error}".split())
    output.error("internal", f"a fault of honed: {what}: please report it with the lines above")
    return FAILED


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
