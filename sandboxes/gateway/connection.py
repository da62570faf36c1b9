"""One connection to a door: a head within bounds of bytes and time, and a plain answer to what is no HTTP.

The HTTP library bounds lines, the number of headers and pipelined requests; it leaves the whole head and a head that
trickles in unbounded, answers nonsense with the parser's own words, and logs a traceback for each.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.web_protocol import RequestHandler

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandboxes.gateway.bounds import Bounds

    Malformed = Callable[[str], web.Response]

HEADERS = 100


class Connection(RequestHandler):
    """A connection whose malformed requests are told to `malformed`, which answers them."""

    def __init__(self, server: DoorServer, malformed: Malformed, bounds: Bounds, **options: Any) -> None:
        super().__init__(
            server,
            max_headers=HEADERS,
            max_field_size=bounds.head_bytes,
            keepalive_timeout=bounds.idle_s,
            **options,
        )
        self._server = server
        self._bounds = bounds
        self._malformed = malformed
        self._head = 0
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, unless the door was closed while this was being accepted."""
        super().connection_made(transport)
        if self._server.closed:
            self.force_close()

    def data_received(self, data: bytes) -> None:
        """Parse, and count what is not yet a whole head."""
        known = self._request_count
        super().data_received(data)
        if self._request_count != known:
            self._head_ended()
        elif self._waiter is not None and data:  # between two requests
            self._head += len(data)
            if self._head > self._bounds.head_bytes:
                self._give_up("head: too large", 431)
            elif self._head_timer is None:
                self._head_timer = self._loop.call_later(self._bounds.head_s, self._give_up, "head: too slow", 408)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the timer."""
        self._head_ended()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the parser refused; nothing of it is repeated or logged."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        response = self._malformed("http: malformed" if status < 500 else "http: failed")
        response.force_close()
        return response

    def _head_ended(self) -> None:
        self._head = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _give_up(self, what: str, status: int) -> None:
        body = self._malformed(what).body
        assert isinstance(body, bytes)
        if self.transport is not None:
            lines = (f"HTTP/1.1 {status} Refused", "Content-Type: application/json", f"Content-Length: {len(body)}")
            self.transport.write("\r\n".join((*lines, "Connection: close", "", "")).encode() + body)
        self.force_close()


class DoorServer(web.Server):
    """Makes such connections, at most `most` of them."""

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Any],
        malformed: Malformed,
        bounds: Bounds,
        *,
        most: int,
        **options: Any,
    ) -> None:
        super().__init__(handler, access_log=None, **options)
        self._door_malformed = malformed
        self._bounds = bounds
        self._most = most
        self._options = options
        self.closed = False
        """What is accepted from now on is dropped."""

    def protocol(self) -> asyncio.BaseProtocol:
        """For a new connection."""
        if len(self.connections) >= self._most:
            return _Turned()
        loop = asyncio.get_running_loop()
        return Connection(self, self._door_malformed, self._bounds, loop=loop, access_log=None, **self._options)


class _Turned(asyncio.Protocol):
    """What a connection beyond the bound gets: nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
