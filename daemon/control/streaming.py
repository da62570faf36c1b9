"""`GET /events`: events as JSON lines, with a sign of life where nothing happens.

Invariant: a reader that does not read holds up nobody and costs no memory: what it has missed is counted, and after a
while it is cut off.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from aiohttp import web

from daemon.control.wire import to_data
from daemon.plain import json_line
from daemon.redaction import redact_value

if TYPE_CHECKING:
    from daemon.telling.events import Bus, DaemonEvent

_AT_ONCE = 100
"""Events in one write."""


class Feed:
    """One reader's way through the events."""

    def __init__(self, bus: Bus, response: web.StreamResponse, *, heartbeat_s: float, stall_s: float) -> None:
        self._bus = bus
        self._response = response
        self._heartbeat_s = heartbeat_s
        self._stall_s = stall_s

    async def send(self, after: int, *, follow: bool) -> None:
        """Everything with a higher number, then what comes. Raises `TimeoutError` or `ConnectionError`: it is gone."""
        # A number that is not reached yet is of an earlier process: its reader has seen nothing of this one.
        number = 0 if after > self._bus.newest else after
        news = asyncio.Event()
        with self._bus.listening(lambda _event: news.set()):
            while True:
                news.clear()
                for lines, last in self._lines(number):
                    await self._write(lines)
                    number = last
                if self._bus.newest > number:
                    continue
                if not follow:
                    return
                await self._wait(news)

    def _lines(self, number: int) -> Iterator[tuple[str, int]]:
        waiting = iter(self._bus.since(number))
        while some := tuple(islice(waiting, _AT_ONCE)):
            lost = some[0].number - number - 1
            number = some[-1].number
            yield (_line({"lost": lost}) if lost else "") + "".join(map(_event_line, some)), number

    async def _wait(self, news: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._heartbeat_s):
                await news.wait()
        except TimeoutError:
            await self._write(_line({"heartbeat": time.time()}))

    async def _write(self, text: str) -> None:
        async with asyncio.timeout(self._stall_s):
            await self._response.write(text.encode())


def _event_line(event: DaemonEvent) -> str:
    return _line({"event": event})


def _line(data: Any) -> str:
    return json_line(redact_value(to_data(data)))
