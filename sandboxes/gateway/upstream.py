"""One request to the provider: bounded tries, then either a live answer or a named failure.

A try may be repeated as long as nothing of its answer was passed on: connection trouble, transient statuses, answers
cut before they began to matter, and errors at the head of a stream. Redirects are not followed. TLS is verified by
the session; the environment's proxies and netrc are not trusted.
"""

from __future__ import annotations

import asyncio
import io
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

import aiohttp

from sandboxes.gateway.backoff import Plan, next_wait, retry_after
from sandboxes.gateway.failures import classify, classify_error, failure_line, parse_error, retryable
from sandboxes.gateway.headers import key_headers
from sandboxes.gateway.live import Broken, Live
from sandboxes.gateway.policy import ProviderFailure, Upstream
from sandboxes.gateway.scrub import scrubbed
from sandboxes.gateway.unreachable import why_unreachable

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from sandboxes.gateway.dialects import Dialect

ERROR_BYTES = 256 * 1024
CONNECT_S = 10.0
IDLE_S = 300.0
ALIVE_S = 900.0
"""How long a provider may send signs of life alone, as some do while their model thinks."""
STREAM_BYTES = 256 * 1024 * 1024
"""Of one streamed answer."""


@dataclass(frozen=True)
class Call:
    """What to send."""

    upstream: Upstream
    dialect: Dialect
    query: str
    """Appended to the address: empty or `?beta=true`."""
    headers: Mapping[str, str]
    """But the key's."""
    body: bytes


class UpstreamFailed(Exception):  # noqa: N818 - named for what happened
    """The provider did not answer, after all tries."""

    def __init__(self, kind: ProviderFailure, line: str, *, status: int | None, body: bytes) -> None:
        super().__init__(line)
        self.kind = kind
        self.line = line
        self.status = status
        self.body = body
        """The provider's own error answer, without the key; empty if there was none."""


@dataclass
class Waits:
    """Clock, sleep and chance, injectable for tests."""

    rng: random.Random
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.time
    connect_s: float = CONNECT_S
    idle_s: float = IDLE_S
    alive_s: float = ALIVE_S
    stream_bytes: int = STREAM_BYTES


@dataclass
class _Try:
    kind: ProviderFailure
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    detail: str = ""


class UpstreamClient:
    """Sends calls; `concurrency` bounds how many are under way at once."""

    def __init__(self, session: aiohttp.ClientSession, waits: Waits, *, concurrency: int) -> None:
        self._session = session
        self._waits = waits
        self._slots = asyncio.Semaphore(concurrency)

    @asynccontextmanager
    async def exchange(self, call: Call, on_retry: Callable[[ProviderFailure, float], None]) -> AsyncIterator[Live]:
        """A live answer (status 2xx), or `UpstreamFailed`. The slot is free while waiting between tries.

        `on_retry` is told what failed, and the seconds lost until the next try.
        """
        plan = Plan(call.upstream.tries, call.upstream.retry_s)
        failed, waited, renewed = 0, 0.0, False
        while True:
            began = time.monotonic()
            key = call.upstream.key
            async with self._slots:
                outcome = await self._try(call, key)
                if isinstance(outcome, Live):
                    try:
                        yield outcome
                    finally:
                        outcome.close()
                    return
            if outcome.status == HTTPStatus.UNAUTHORIZED and call.upstream.renewal is not None and not renewed:
                renewed = await call.upstream.renewal.renewed(key, lambda: call.upstream.key)
                if renewed:
                    on_retry(outcome.kind, time.monotonic() - began)
                    continue
            failed += 1
            asked = retry_after(outcome.headers, self._waits.clock())
            wait = None
            if self._again(outcome, failed):
                wait = next_wait(plan, failed=failed, waited_s=waited, asked_s=asked, rng=self._waits.rng)
            if wait is None:
                raise _final(call.upstream, outcome, failed)
            on_retry(outcome.kind, time.monotonic() - began + wait)
            await self._waits.sleep(wait)
            waited += wait

    async def _try(self, call: Call, key: str) -> Live | _Try:
        response = None
        opened: Live | None = None
        try:
            async with asyncio.timeout(call.upstream.timeout_s):
                response = await self._session.post(
                    call.dialect.url(call.upstream.base_url) + call.query,
                    data=io.BytesIO(call.body),  # in pieces: large bytes at once hold up the loop
                    headers={**call.headers, **key_headers(call.upstream.provider, key)},
                    allow_redirects=False,
                )
                if not 200 <= response.status < 300:
                    return await _refused(call.upstream, response)
                live = Live(response, call.dialect, waits=self._waits)
                await live.begin()
            error = live.meter.error if live.meter is not None else None
            kind = classify_error(error) if error is not None else None
            if error is not None and kind is not None and kind.transient:
                return _Try(kind, detail=scrubbed(error.message, call.upstream))
            # Other errors inside a stream are passed on as they are: CLIs know their provider's own events.
            opened = live
            return live
        except TimeoutError:
            return _Try(ProviderFailure.TIMEOUT)
        except Broken as broken:
            return _Try(broken.kind, detail=broken.detail)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _Try(ProviderFailure.UNREACHABLE, detail=scrubbed(why_unreachable(error), call.upstream))
        finally:
            if opened is None and response is not None:
                response.close()

    @staticmethod
    def _again(outcome: _Try, failed: int) -> bool:
        if outcome.kind is ProviderFailure.TIMEOUT and failed > 1:
            return False  # a silent provider is asked twice, not for tries times the timeout
        return retryable(outcome.kind, outcome.headers)


async def _refused(upstream: Upstream, response: aiohttp.ClientResponse) -> _Try:
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        body = await _up_to(response, ERROR_BYTES)
    except aiohttp.ClientError:
        body = b""  # the status alone tells enough
    kind = classify(response.status, body)
    detail = parse_error(body).message
    if 300 <= response.status < 400:
        detail = "redirects are not followed"
    if kind is ProviderFailure.AUTH:
        detail = ""  # such messages show parts of the key
    return _Try(kind, response.status, headers, scrubbed(body, upstream), scrubbed(detail, upstream))


async def _up_to(response: aiohttp.ClientResponse, limit: int) -> bytes:
    parts = bytearray()
    async for chunk in response.content.iter_any():
        parts += chunk
        if len(parts) > limit:
            return bytes(parts[:limit])
    return bytes(parts)


def _final(upstream: Upstream, outcome: _Try, tries: int) -> UpstreamFailed:
    detail = outcome.detail if tries == 1 else f"{tries} tries{'; ' if outcome.detail else ''}{outcome.detail}"
    line = failure_line(upstream, outcome.kind, outcome.status, detail)
    return UpstreamFailed(outcome.kind, line, status=outcome.status, body=outcome.body)
