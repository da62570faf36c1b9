"""Waiting for what must happen: long enough for a busy machine, and no longer than it takes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""Guards against hanging only; nothing is judged by time."""
LONGER_S = (1.0, 5.0, 30.0, PATIENCE_S)
"""Deadlines to try in turn, where something must have begun before it is over: the first is enough, mostly."""


async def until(holds: Callable[[], object], *, every_s: float = 0.005) -> None:
    """Wait in the event loop until it holds; fail where it never does."""
    last = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < last, "it did not come to that"
        await asyncio.sleep(every_s)


def wait_until(holds: Callable[[], object], *, every_s: float = 0.005) -> None:
    """The same where there is no event loop."""
    last = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < last, "it did not come to that"
        time.sleep(every_s)


def once(holds: Callable[[], object], then: Callable[[], object]) -> None:
    """Do `then` in a thread as soon as it holds, while this one is at work; nothing where it never holds."""

    def watch() -> None:
        try:
            wait_until(holds)
        except AssertionError:
            return  # the test sees for itself that nothing was done
        then()

    threading.Thread(target=watch, name="once", daemon=True).start()


def printed(words: str, stream: str = "stdout") -> Callable[[], bool]:
    """Whether the test that runs under `capsys` has printed this by now."""
    return lambda: words in getattr(getattr(sys, stream), "getvalue", str)()


def interrupt(sign: signal.Signals = signal.SIGINT) -> None:
    """Send this process a signal, as Ctrl-C does, if there is somebody who takes it."""
    if signal.getsignal(sign) not in (signal.SIG_DFL, signal.default_int_handler):
        os.kill(os.getpid(), sign)
