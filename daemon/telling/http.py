"""`/healthz`, `/readyz` and `/metrics` over HTTP, for supervisors and Prometheus. Nothing can be changed here.

Invariants: loopback unless the configuration says otherwise, and then no page of a browser that was led here (by a
`Host` of its own) is answered; bodies are never read; connections are few and short, so that an idle or slow client
takes nothing from the daemon.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

import structlog
from aiohttp import web

from daemon.config import Config, ConfigError
from daemon.config_listen import read_listen
from daemon.journal.journal import JournalError
from daemon.plain import plain
from daemon.telling.exposition import CONTENT_TYPE, registry_of, written
from skills_repo.publish.address import is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable

    from daemon.service.desk import Desk
    from daemon.telling.counting import Counting

log = structlog.get_logger(__name__)

CONNECTIONS = 16
LIFETIME_S = 15.0
"""Of a connection; each serves one request."""
STATUS_S = 5.0
"""How long the desk may take to say what stands."""
_HEADERS = {"Cache-Control": "no-store", "Server": "honed", "X-Content-Type-Options": "nosniff"}
_TEXT = "text/plain; charset=utf-8"


@dataclass
class Pages:
    """Answers requests."""

    desk: Desk
    config: Config
    counting: Counting
    host: str
    """Where it listens, as configured."""

    def __post_init__(self) -> None:
        """One registry over the book for as long as the pages are there."""
        self._registry = registry_of(self.counting.book)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, one answer, one connection."""
        status, text, kind = await self._answer(request)
        headers = {**_HEADERS, "Content-Type": kind}
        if status == 405:
            headers["Allow"] = "GET, HEAD"
        response = web.Response(status=status, body=text, headers=headers)
        response.force_close()
        return response

    async def _answer(self, request: web.BaseRequest) -> tuple[int, bytes, str]:
        pages = {"/healthz": self._health, "/readyz": self._ready, "/metrics": self._metrics}
        page = pages.get(request.path)
        if not self.config.daemon.listen_public and not self._is_meant(request.headers.get("Host")):
            return 421, b"this address is for loopback alone\n", _TEXT
        if page is None:
            return 404, b"there are /healthz, /readyz and /metrics\n", _TEXT
        if request.method not in ("GET", "HEAD"):
            return 405, b"ask with GET\n", _TEXT
        return await page()

    def _is_meant(self, header: str | None) -> bool:
        if header is None:
            return True  # no browser asks without
        try:
            host = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        return host == self.host or is_loopback(host)

    async def _health(self) -> tuple[int, bytes, str]:
        alive = self.desk.alive()
        return (200, b"ok\n", _TEXT) if alive else (503, b"the daemon's loop does not turn\n", _TEXT)

    async def _ready(self) -> tuple[int, bytes, str]:
        reason = plain(" ".join(self.desk.ready().split()))
        return (503, f"{reason}\n".encode("utf-8", "replace"), _TEXT) if reason else (200, b"ok\n", _TEXT)

    async def _metrics(self) -> tuple[int, bytes, str]:
        try:
            async with asyncio.timeout(STATUS_S):
                status = await self.desk.status()
        except TimeoutError:
            log.warning("metrics_unanswered", reason=f"the daemon did not say how it stands within {STATUS_S:g} s")
            return 503, b"the daemon did not answer in time\n", _TEXT
        except JournalError as error:  # the daemon tells it as a trouble
            log.warning("metrics_unanswered", reason=str(error))
            return 503, b"the daemon cannot read its job store\n", _TEXT
        self.counting.stand(status, ready=not self.desk.ready())
        return 200, written(self._registry), CONTENT_TYPE


class Listening:
    """An open server; `port` says where."""

    def __init__(self, server: asyncio.Server, web_server: web.Server) -> None:
        self._server = server
        self._web = web_server
        self.port: int = server.sockets[0].getsockname()[1]

    @classmethod
    async def open(cls, desk: Desk, config: Config, counting: Counting) -> Self:
        """Listen; raises `ConfigError` naming `[daemon] listen` where that cannot be."""
        section = config.daemon
        host, port = read_listen(section.listen, public=section.listen_public)
        pages = Pages(desk, config, counting, host)
        web_server = web.Server(pages.answer, access_log=None, lingering_time=0.5, max_field_size=8_190)
        try:
            server = await asyncio.get_running_loop().create_server(_bounded(web_server), host, port)
        except OSError as error:
            msg = f'{config.file}: [daemon] listen = "{section.listen}": cannot listen there ({error.strerror}): '
            raise ConfigError(msg + "end what holds it, or name another port") from error
        self = cls(server, web_server)
        log.info("listening", host=host, port=self.port, public=section.listen_public)
        return self

    async def close(self) -> None:
        """Answer nobody any more."""
        self._server.close()
        await self._web.shutdown(0.5)


class _Turned(asyncio.Protocol):
    """What a connection beyond the bound gets: nothing."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


def _bounded(server: web.Server) -> Callable[[], asyncio.BaseProtocol]:
    loop = asyncio.get_running_loop()

    def protocol() -> asyncio.BaseProtocol:
        if len(server.connections) >= CONNECTIONS:
            return _Turned()
        handler = server()
        loop.call_later(LIFETIME_S, handler.force_close)
        return handler

    return protocol
