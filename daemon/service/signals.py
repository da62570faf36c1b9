"""Signals of a daemon: the first SIGTERM or SIGINT drains, a second one stops at once, SIGHUP reads the configuration.

Invariant: handlers only set events and are put back when the daemon ends.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_END = (signal.SIGTERM, signal.SIGINT)


@dataclass
class Signals:
    """What was asked for from outside."""

    drain: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    reload: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen, in the main thread's loop."""
        loop = asyncio.get_running_loop()
        for number in _END:
            loop.add_signal_handler(number, self.end)
        loop.add_signal_handler(signal.SIGHUP, self.reload.set)
        try:
            yield
        finally:
            for number in (*_END, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def end(self) -> None:
        """Drain; the second time, stop."""
        (self.stop if self.drain.is_set() else self.drain).set()
