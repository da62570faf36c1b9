"""The simulated model behind a provider that fails a share of requests: errors, drops, delays, wrong answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Middleware

from daemon.demo.server import HOST, model_application
from tests.faults.dice import Dice

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
ERRORS = {"429": "rate_limit_error", "500": "server_error", "503": "server_is_overloaded", "529": "overloaded_error"}
KINDS = (*ERRORS, "retry-after", "dropped", "head alone", "half an answer", "garbage", "other json", "empty", "slow")
"""Each of them may pass, so each is worth another try; what never passes stops a run, and is no part of this."""
_TRUE = "x-true"
"""Header of requests that the provider asks itself, for an answer to cut."""


class FaultyProvider:
    """One port on loopback; an async context manager."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.port = 0
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    @property
    def base_url(self) -> str:
        """For provider `openai`."""
        return f"http://{HOST}:{self.port}/v1"

    async def __aenter__(self) -> FaultyProvider:
        application = model_application(middlewares=[self._middleware()])
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0).start()
        self.port = int(self._runner.addresses[0][1])
        self._session = aiohttp.ClientSession()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        assert self._session is not None
        await self._session.close()
        await self._runner.cleanup()

    def _middleware(self) -> Middleware:
        @web.middleware
        async def between(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.method != "POST" or _TRUE in request.headers:
                return await handler(request)
            kind = self.dice.draw(await request.read())
            if kind == "slow":
                await asyncio.sleep(0.05)
            return await (self._failed(kind, request) if kind not in {"", "slow"} else handler(request))

        return between

    async def _failed(self, kind: str, request: web.Request) -> web.StreamResponse:
        if kind in ERRORS:
            return _error(int(kind), ERRORS[kind])
        match kind:
            case "retry-after":
                return _error(429, "rate_limit_error", {"retry-after": "0"})
            case "garbage":
                return web.Response(text="<html><body>502 Bad Gateway</body></html>", content_type="text/html")
            case "other json":
                return web.json_response({"status": "ok", "data": [1, 2, 3]})
            case "empty":
                return web.Response(body=b"", content_type="application/json")
            case "head alone":
                return await _broken_off(request, b"", "text/event-stream")
            case "half an answer":
                return await self._half(request)
        return _cut(request, web.Response(status=500))

    async def _half(self, request: web.Request) -> web.StreamResponse:
        """The true answer without its last third: of a stream, events that matter have been passed on by then."""
        assert self._session is not None
        url, body = f"http://{HOST}:{self.port}{request.rel_url}", await request.read()
        headers = {_TRUE: "1", "content-type": "application/json"}
        async with self._session.post(url, data=body, headers=headers) as true:
            answer, kind = await true.read(), true.content_type
        return await _broken_off(request, answer[: len(answer) * 2 // 3], kind)


def _error(status: int, kind: str, headers: dict[str, str] | None = None) -> web.Response:
    error = {"error": {"message": "a fault", "type": kind, "code": None}}
    return web.json_response(error, status=status, headers=headers)


async def _broken_off(request: web.Request, sent: bytes, kind: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": kind, "content-length": str(len(sent) + 10_000)})
    await response.prepare(request)
    await response.write(sent)
    await asyncio.sleep(0.01)  # what was sent is to arrive before the end does
    return _cut(request, response)


def _cut(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response
