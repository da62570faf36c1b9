"""A server on loopback in a thread with a loop of its own, so that blocking clients (git) can be its clients too."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from aiohttp import web

from tests.support.waiting import PATIENCE_S


class Loopback:
    """Serves `handle` while it is open; a context manager, asynchronous or not."""

    def __init__(self, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        self._server = handle
        self._runner: web.ServerRunner | None = None
        self.port = 0

    def start(self) -> None:
        """Begin to serve; `port` is set then."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE_S)

    def stop(self) -> None:
        """End, with everything that is open."""
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    async def _start(self) -> None:
        self._runner = web.ServerRunner(web.Server(self._server, access_log=None), shutdown_timeout=0.05)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()
        left = asyncio.all_tasks() - {asyncio.current_task()}  # handlers of connections that were cut off
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_default_executor()


class Served:
    """Something with a `Loopback`: an async context manager."""

    loopback: Loopback

    async def __aenter__(self) -> Self:
        self.loopback.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.loopback.stop()
