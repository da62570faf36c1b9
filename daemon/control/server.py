"""The daemon's side of the control socket.

Invariants: nobody who connects can hold up the daemon: connections, bodies and patience are bounded, and each serves
one request; leaving the context cuts every connection and takes the socket away.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from aiohttp import web

from daemon import __version__
from daemon.control.errors import STATUS
from daemon.control.listening import identity, open_socket, remove
from daemon.control.routes import EVENTS, Asked, BadRequest, answer, find
from daemon.control.streaming import Feed
from daemon.plain import json_line
from daemon.redaction import redact_value

if TYPE_CHECKING:
    from daemon.service.desk import Desk

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Bounds:
    """What one who connects may take."""

    connections: int = 64
    body_bytes: int = 16 * 1024
    patience_s: float = 15.0
    """For a request to arrive whole."""
    heartbeat_s: float = 10.0
    stall_s: float = 30.0
    """For a reader of events to take what was sent."""


@asynccontextmanager
async def serve_control(desk: Desk, state_folder: Path, *, bounds: Bounds | None = None) -> AsyncIterator[Path]:
    """Answer at the control socket in the state folder, whose path it yields, until the context ends.

    A dead process's socket is replaced, a live one's never. Raises `ControlError`.
    """
    listener, path = await asyncio.to_thread(open_socket, state_folder)
    mine = identity(path)
    served = _Served(desk, bounds or Bounds())
    try:
        server = await asyncio.get_running_loop().create_unix_server(served.protocol, sock=listener)
    except BaseException:
        listener.close()
        await asyncio.to_thread(remove, path, mine)
        raise
    try:
        yield path
    finally:
        # Closing a server under a connection that it is just accepting would lose that: accept no more first.
        asyncio.get_running_loop().remove_reader(listener)
        await served.close()
        server.close()
        await asyncio.to_thread(remove, path, mine)


class _Served:
    """One socket's connections."""

    def __init__(self, desk: Desk, bounds: Bounds) -> None:
        self._desk = desk
        self._bounds = bounds
        self._web = web.Server(self._handle, access_log=None, lingering_time=0.5, keepalive_timeout=0.0)
        self._closing = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiting: dict[object, asyncio.TimerHandle] = {}
        """Connections whose request has not come yet."""

    def protocol(self) -> asyncio.BaseProtocol:
        """One more connection, or none where there are enough."""
        if self._closing or len(self._web.connections) >= self._bounds.connections:
            return _Turned()
        made = self._web()
        loop = asyncio.get_running_loop()
        self._waiting[made] = loop.call_later(self._bounds.patience_s, self._give_up, made)
        return made

    async def close(self) -> None:
        """Cut everybody off."""
        self._closing = True
        for _ in range(5):  # what was accepted just now is made by the loop's own tasks, and only then known here
            await asyncio.sleep(0)
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self._web.connections:
            connection.force_close()
        await self._web.shutdown(0.05)  # not zero: that means no limit to aiohttp

    def _give_up(self, connection: Any) -> None:
        self._waiting.pop(connection, None)
        connection.force_close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if timer := self._waiting.pop(request.protocol, None):
            timer.cancel()
        try:
            if request.path == EVENTS and request.method == "GET":
                return await self._events(request)
            do, number = find(request.method, request.path)
            body = await self._body(request) if request.method == "POST" else {}
            data = await answer(self._desk, do, Asked(number, request.query, body))
        except BadRequest as error:
            data = {"error": {"kind": error.kind, "message": " ".join(str(error).split())}}
            return _response(data, STATUS[error.kind])
        return _response(data, 200)

    async def _body(self, request: web.BaseRequest) -> dict[str, Any]:
        data = b""
        try:
            async with asyncio.timeout(self._bounds.patience_s):
                async for chunk in request.content.iter_any():
                    data += chunk
                    if len(data) > self._bounds.body_bytes:
                        raise BadRequest("too-large", f"at most {self._bounds.body_bytes:,} bytes are read")
        except TimeoutError as error:
            raise BadRequest("bad-request", "the request did not arrive whole") from error
        try:
            body = json.loads(data) if data else {}
        except (ValueError, RecursionError) as error:
            raise BadRequest("bad-request", "the body is not JSON") from error
        if not isinstance(body, dict):
            raise BadRequest("bad-request", "the body must be a JSON object")
        return body

    async def _events(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = Asked(0, request.query, {})
        after, newest, follow = asked.count("after", 0), asked.count("newest", 0), asked.count("follow", 0)
        bus = self._desk.events
        if newest:
            after = max(after, bus.newest - newest)
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", **_HEADERS})
        response.force_close()
        await response.prepare(request)
        feed = Feed(bus, response, heartbeat_s=self._bounds.heartbeat_s, stall_s=self._bounds.stall_s)
        try:
            await response.write(json_line({"honed": __version__, "newest": bus.newest}).encode())
            await feed.send(after, follow=bool(follow))
        except (TimeoutError, ConnectionError):
            log.info("a reader of events has gone", after=after)
            if request.transport is not None:
                request.transport.abort()
        return response


_HEADERS = {"Honed-Version": __version__, "Cache-Control": "no-store"}


def _response(data: dict[str, Any], status: int) -> web.Response:
    text = json_line(redact_value({"honed": __version__, **data}))
    response = web.Response(text=text, status=status, content_type="application/json", headers=_HEADERS)
    response.force_close()
    return response


class _Turned(asyncio.Protocol):
    """What a connection beyond the bound gets: nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
