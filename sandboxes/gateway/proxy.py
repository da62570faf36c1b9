"""`ModelGateway`: the real gateway. It holds the connections to providers; each attempt gets a door of its own.

The real key stays in this process: it is added to a request as it leaves and masked in whatever comes back.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import aiohttp
import structlog

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.buffers import AllBuffers
from sandboxes.gateway.door import ModelDoor
from sandboxes.gateway.failures import host_of
from sandboxes.gateway.heard import Heard, unheard
from sandboxes.gateway.listener import remove_dead
from sandboxes.gateway.tls import trusted
from sandboxes.gateway.tokens import Tokens
from sandboxes.gateway.upstream import UpstreamClient, Waits

if TYPE_CHECKING:
    from pathlib import Path

    from sandboxes.gateway.policy import DoorPolicy, Tally

log = structlog.get_logger(__name__)

CONCURRENCY = 16
_BOUNDS = Bounds()


class ModelGateway:
    """A `Gateway`. Used from one event loop."""

    def __init__(
        self,
        sockets: Path,
        *,
        waits: Waits | None = None,
        concurrency: int = CONCURRENCY,
        heard: Heard = unheard,
        bounds: Bounds = _BOUNDS,
    ) -> None:
        """Nothing is opened yet.

        `sockets`: folder for the doors' sockets, this gateway's own. `concurrency`: requests under way at once at one
        provider, over all doors. `waits`: clock, sleep and jitter, injectable for tests.
        `heard` is told of each request that has ended. `bounds`: what doors take from a sandbox.
        """
        self._heard = heard
        self._sockets = sockets
        self._waits = waits or Waits(rng=random.Random())  # noqa: S311 - jitter, no secret
        self._concurrency = concurrency
        self._session: aiohttp.ClientSession | None = None
        self._starting = asyncio.Lock()
        self._clients: dict[tuple[str, str], UpstreamClient] = {}
        self._doors: set[_Door] = set()
        self._bounds = bounds
        self._buffers = AllBuffers(bounds.all_bytes)
        self._tokens = Tokens()

    async def open(self, attempt_id: str, policy: DoorPolicy) -> ModelDoor:
        """A new door for one attempt; raises `SandboxError` if its socket cannot be made."""
        async with self._starting:  # a door that is being made beside us would look dead
            if self._session is None:
                dead = await asyncio.to_thread(remove_dead, self._sockets)
                if dead:
                    log.info("removed dead gateway sockets", doors=dead)
                self._session = self._connect()
        door = _Door(
            attempt_id,
            policy,
            self._client(policy),
            self._heard,
            doors=self._doors,
            bounds=self._bounds,
            buffers=self._buffers,
            tokens=self._tokens,
        )
        self._doors.add(door)
        try:
            await door.listen(self._sockets)
        except BaseException:
            await door.close()
            raise
        return door

    async def close(self) -> None:
        """Close every door and the upstream connections."""
        await asyncio.gather(*(door.close() for door in list(self._doors)))
        session, self._session = self._session, None
        self._clients.clear()
        if session is not None:
            await session.close()

    def _client(self, policy: DoorPolicy) -> UpstreamClient:
        assert self._session is not None
        key = (policy.upstream.provider, host_of(policy.upstream.base_url))
        if key not in self._clients:
            self._clients[key] = UpstreamClient(self._session, self._waits, concurrency=self._concurrency)
        return self._clients[key]

    def _connect(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trusted()),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._waits.connect_s),
            trust_env=False,
        )


class _Door(ModelDoor):
    """A door that takes itself off the gateway's list."""

    def __init__(
        self,
        attempt_id: str,
        policy: DoorPolicy,
        client: UpstreamClient,
        heard: Heard,
        *,
        doors: set[_Door],
        bounds: Bounds,
        buffers: AllBuffers,
        tokens: Tokens,
    ) -> None:
        super().__init__(attempt_id, policy, client, heard, bounds=bounds, buffers=buffers, tokens=tokens)
        self._doors = doors

    async def close(self) -> Tally:
        self._doors.discard(self)
        return await super().close()
