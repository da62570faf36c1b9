"""The simulated model behind a provider that fails now and then, by a seed: the daemon's only address in a soak.

In front of the model stands a middleware: 429, 500 and 529, a connection that is cut before or within the answer, and
delays. It can also go away: then its port refuses connections until it is back.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Middleware

from daemon.demo.server import HOST, model_application

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FAULTS = ("429", "500", "529", "cut", "half", "slow")


class FaultyModel:
    """One port; `share` of the requests fail while `faults` is on. Its methods may be called from any thread."""

    def __init__(self, seed: int, share: float = 0.04) -> None:
        self.faults = True
        self.share = share
        self.counts: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self._site: web.TCPSite | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """For `base_url` with provider `openai`."""
        return f"http://{HOST}:{self.port}/v1"

    @contextmanager
    def serving(self) -> Iterator[FaultyModel]:
        """In a thread of its own."""
        thread = Thread(target=self._loop.run_forever, name="provider")
        thread.start()
        try:
            self._call(self._start())
            yield self
        finally:
            self._call(self._stop())
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join()
            self._loop.close()

    def go_away(self) -> None:
        """Refuse connections from now on."""
        self.counts["away"] += 1
        self._call(self._leave())

    def come_back(self) -> None:
        """Listen again, at the same port."""
        self._call(self._listen())

    def _call(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _start(self) -> None:
        application = model_application(middlewares=[self._middleware()])
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await self._listen()
        self.port = int(self._runner.addresses[0][1])

    async def _listen(self) -> None:
        assert self._runner is not None
        if self._site is None:
            self._site = web.TCPSite(self._runner, HOST, self.port, reuse_address=True)
            await self._site.start()

    async def _leave(self) -> None:
        site, self._site = self._site, None
        if site is not None:
            await site.stop()

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _middleware(self) -> Middleware:
        @web.middleware
        async def between(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._between(request, handler)

        return between

    async def _between(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.counts["requests"] += 1
        if self._site is None:  # a connection from before it went away
            return _cut(request)
        kind = self._rng.choice(FAULTS) if self.faults and self._rng.random() < self.share else ""
        if not kind:
            return await handler(request)
        self.counts[kind] += 1
        if kind.isdigit():
            headers = {"retry-after": "0"} if kind == "429" else {}
            return web.json_response(
                {"error": {"message": "a fault", "type": "fault"}}, status=int(kind), headers=headers
            )
        if kind == "cut":
            return _cut(request)
        if kind == "half":
            response = web.StreamResponse(headers={"content-type": "application/json", "content-length": "1000"})
            await response.prepare(request)
            await response.write(b'{"id": "half of an ans')
            return _cut(request)
        await asyncio.sleep(self._rng.uniform(0.05, 0.5))
        return await handler(request)


def _cut(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return web.Response(status=500)
