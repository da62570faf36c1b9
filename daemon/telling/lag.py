"""How late the event loop is: a timer that notes by how much it was missed."""

from __future__ import annotations

import asyncio

from daemon.telling import metrics
from daemon.telling.metrics import Book

EVERY_S = 1.0


async def watch_lag(book: Book) -> None:
    """Note it once a second, for ever."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + EVERY_S
        await asyncio.sleep(EVERY_S)
        book.observe(metrics.LAG, value=max(0.0, loop.time() - due))
