"""`Telling`: everything by which the daemon tells what it does, opened by configuration and closed in reverse order.

Invariant: what is not configured is not imported, listens nowhere and costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from daemon.config import Config
from daemon.service.troubles import Troubles
from daemon.telling.counting import Counting
from daemon.telling.events import Bus
from daemon.telling.lag import watch_lag

if TYPE_CHECKING:
    from daemon.service.desk import Desk
    from daemon.telling.metrics import Book
    from sandboxes.gateway.heard import Answered


@dataclass
class Telling:
    """What is open."""

    counting: Counting = field(default_factory=Counting)
    port: int | None = None
    """Where health and metrics are served; None: nowhere."""

    def heard(self, answered: Answered) -> None:
        """Takes requests to providers: hand it to `open_parts`."""
        self.counting.heard(answered)

    @classmethod
    @asynccontextmanager
    async def open(
        cls, desk: Desk, bus: Bus, config: Config, troubles: Troubles | None = None
    ) -> AsyncIterator[Telling]:
        """Start what the daemon's own configuration asks for; raises `ConfigError` naming the key that mends it.

        `troubles`: where hooks that fail are shown; None: a place of their own, for the log and the bus.
        """
        self = cls()
        async with AsyncExitStack() as stack:
            if config.daemon.listen:
                await self._serve(stack, desk, bus, config)
            if config.hooks.command or config.hooks.url:
                await self._hook(stack, desk, bus, config, troubles or Troubles(bus))
            if config.telemetry.otlp_endpoint:
                from daemon.telling.otel import open_otel  # noqa: PLC0415 - an extra

                await stack.enter_async_context(open_otel(bus, config))
            yield self

    async def _serve(self, stack: AsyncExitStack, desk: Desk, bus: Bus, config: Config) -> None:
        from daemon.telling.http import Listening  # noqa: PLC0415 - Prometheus' client is for those who listen

        stack.enter_context(bus.listening(self.counting.notice))
        server = await Listening.open(desk, config, self.counting)
        stack.push_async_callback(server.close)
        self.port = server.port
        await stack.enter_async_context(_beside(self.counting.book))

    async def _hook(self, stack: AsyncExitStack, desk: Desk, bus: Bus, config: Config, troubles: Troubles) -> None:
        from daemon.telling.hooks import open_hooks  # noqa: PLC0415 - for those who have any

        await stack.enter_async_context(open_hooks(desk, bus, config, book=self.counting.book, troubles=troubles))


@asynccontextmanager
async def _beside(book: Book) -> AsyncIterator[None]:
    task = asyncio.create_task(watch_lag(book), name="event loop lag")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
