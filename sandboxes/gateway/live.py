"""A live answer: its first bytes already read and judged, the rest passed through as it comes, watched by a meter."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import aiohttp

from sandboxes.gateway.meter import StreamMeter, whole_counts
from sandboxes.gateway.policy import ProviderFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandboxes.gateway.dialects import Dialect
    from sandboxes.gateway.usage import Counts

WHOLE_BYTES = 64 * 1024 * 1024
HELD_BYTES = 256 * 1024


class Broken(Exception):  # noqa: N818 - named for what happened
    """The answer ended before its end, or is none."""

    def __init__(self, kind: ProviderFailure, detail: str = "") -> None:
        super().__init__(detail or kind.value)
        self.kind = kind
        self.detail = detail


class Live:
    """One answer with status 2xx. `begin()`, then `chunks()` once, then `close()`."""

    def __init__(self, response: aiohttp.ClientResponse, dialect: Dialect, *, idle_s: float) -> None:
        self.status = response.status
        self.headers = response.headers
        self.streaming = response.content_type == "text/event-stream"
        self.meter = StreamMeter(dialect) if self.streaming else None
        self.received = 0
        """Bytes read of the answer."""
        self._response = response
        self._dialect = dialect
        self._idle_s = idle_s
        self._held: list[bytes] = []
        self._body: Any = None

    async def begin(self) -> None:
        """Read until the answer is sure to be one: the first telling event, or the whole JSON. Raises `Broken`."""
        if self.meter is None:
            await self._read_whole()
            return
        while not self.meter.substantial and self.received < HELD_BYTES:
            chunk = await self._next()
            if chunk is None:
                raise Broken(ProviderFailure.CUT_STREAM, "it ended before the answer began")
            self._held.append(chunk)

    async def chunks(self) -> AsyncIterator[bytes]:
        """All bytes from the first on. Raises `Broken` where the provider breaks off or falls silent."""
        for chunk in self._held:
            yield chunk
        self._held.clear()
        while self.meter is not None:
            more = await self._next()
            if more is None:
                if not self.meter.finished and self.meter.error is None:
                    raise Broken(ProviderFailure.CUT_STREAM)
                return
            yield more

    def counts(self) -> tuple[Counts | None, bool]:
        """Counts so far, and whether they are final."""
        if self.meter is not None:
            return self.meter.counts()
        counts = whole_counts(self._dialect, self._body)
        return counts, counts is not None

    def close(self) -> None:
        """Drop the connection unless the answer was read to its end."""
        self._response.close()

    async def _next(self) -> bytes | None:
        try:
            async with asyncio.timeout(self._idle_s):
                chunk = await self._response.content.readany()
        except TimeoutError:
            raise Broken(ProviderFailure.TIMEOUT, f"silent for {self._idle_s:g} s") from None
        except (aiohttp.ClientError, OSError):
            raise Broken(ProviderFailure.CUT_STREAM) from None
        self.received += len(chunk)
        if chunk and self.meter is not None:
            self.meter.feed(chunk)
        return chunk or None

    async def _read_whole(self) -> None:
        while (chunk := await self._next()) is not None:
            self._held.append(chunk)
            if self.received > WHOLE_BYTES:
                raise Broken(ProviderFailure.BAD_REPLY, "larger than 64 MiB")
        try:
            self._body = json.loads(b"".join(self._held))
        except (ValueError, RecursionError):
            raise Broken(ProviderFailure.BAD_REPLY, "not JSON") from None
