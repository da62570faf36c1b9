"""The events' stream for a coroutine that may be cancelled while nothing comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from daemon.control.client import Client, Line


async def lines(client: Client, query: str) -> AsyncGenerator[Line, None]:
    """The lines of `/events?query`, as they come, until the daemon ends them. Raises `ControlError`."""
    stream = await asyncio.to_thread(client.stream, query)
    try:
        while True:
            line = await asyncio.to_thread(stream.read)
            if line is None:
                return
            yield line
    finally:
        stream.cut()  # a thread that still reads comes to an end at once
