"""A live answer: its first bytes already read and judged, the rest passed through as it comes, watched by a meter."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

import aiohttp

from sandboxes.gateway.meter import StreamMeter, whole_counts
from sandboxes.gateway.policy import ProviderFailure
from sandboxes.gateway.requests import too_many_parts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sandboxes.gateway.dialects import Dialect
    from sandboxes.gateway.upstream import Waits
    from sandboxes.gateway.usage import Counts

WHOLE_BYTES = 32 * 1024 * 1024
HELD_BYTES = 256 * 1024


class Broken(Exception):  # noqa: N818 - named for what happened
    """The answer ended before its end, or is none."""

    def __init__(self, kind: ProviderFailure, detail: str = "") -> None:
        super().__init__(detail or kind.value)
        self.kind = kind
        self.detail = detail


class Live:
    """One answer with status 2xx. `begin()`, then `chunks()` once, then `close()`."""

    def __init__(self, response: aiohttp.ClientResponse, dialect: Dialect, *, waits: Waits) -> None:
        self.status = response.status
        self.headers = response.headers
        self.streaming = response.content_type == "text/event-stream"
        self.meter = StreamMeter(dialect) if self.streaming else None
        self.received = 0
        """Bytes read of the answer."""
        self.told = time.monotonic()
        """When it last told something: more than a sign of life."""
        self._telling = 0
        self._response = response
        self._dialect = dialect
        self._waits = waits
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
            async with asyncio.timeout(self._waits.idle_s):
                chunk = await self._response.content.readany()
        except TimeoutError:
            raise Broken(ProviderFailure.TIMEOUT, f"silent for {self._waits.idle_s:g} s") from None
        except (aiohttp.ClientError, OSError):
            raise Broken(ProviderFailure.CUT_STREAM) from None
        self.received += len(chunk)
        if chunk and self.meter is not None:
            self._watch(self.meter, chunk)
        return chunk or None

    def _watch(self, meter: StreamMeter, chunk: bytes) -> None:
        meter.feed(chunk)
        now = time.monotonic()
        if meter.telling > self._telling:
            self._telling, self.told = meter.telling, now
        if now - self.told > self._waits.alive_s:
            raise Broken(ProviderFailure.TIMEOUT, f"nothing but signs of life for {self._waits.alive_s:g} s")
        if self.received > self._waits.stream_bytes:
            raise Broken(ProviderFailure.BAD_REPLY, f"larger than {self._waits.stream_bytes} bytes")

    async def _read_whole(self) -> None:
        while (chunk := await self._next()) is not None:
            self._held.append(chunk)
            if self.received > WHOLE_BYTES:
                raise Broken(ProviderFailure.BAD_REPLY, f"larger than {WHOLE_BYTES // 1024**2} MiB")
        whole = b"".join(self._held)
        if too_many_parts(whole):
            raise Broken(ProviderFailure.BAD_REPLY, "of too many parts")
        try:
            self._body = json.loads(whole)
        except (ValueError, RecursionError):
            raise Broken(ProviderFailure.BAD_REPLY, "not JSON") from None
