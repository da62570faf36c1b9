"""Relays one admitted request: sends it, passes the answer on chunk by chunk, and settles what it used."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sandboxes.gateway.dialects import NO_RETRY, Dialect, error_json, final_status, shown
from sandboxes.gateway.failures import classify_error, failure_line
from sandboxes.gateway.headers import downstream_headers, upstream_headers
from sandboxes.gateway.ledger import Ledger, Reserve, Ticket
from sandboxes.gateway.live import Broken, Live
from sandboxes.gateway.meter import settle
from sandboxes.gateway.policy import DoorPolicy, ProviderFailure, Upstream, Usage
from sandboxes.gateway.scrub import KeyScrubber, scrubbed
from sandboxes.gateway.told import told_error
from sandboxes.gateway.upstream import Call, UpstreamClient, UpstreamFailed
from sandboxes.gateway.usage import Counts, estimated_tokens, most_tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

DEFAULT_OUTPUT = 128_000
"""Output tokens reserved where a request declares no bound: the most that models write."""
_MOST = 1_000_000_000
"""Of what a request declares: larger numbers only break the arithmetic."""
SLOW_CLIENT_S = 60.0
"""A client that takes nothing for so long is given up: it holds a slot that others wait for."""
_AS_IT_IS = {ProviderFailure.BAD_REQUEST, ProviderFailure.CONTEXT_LENGTH, ProviderFailure.MODEL_NOT_FOUND}


@dataclass
class Note:
    """What one request comes to, for its log line."""

    dialect: Dialect | None = None
    status: int | None = None
    refusal: str | None = None
    failure: ProviderFailure | None = None
    usage: Usage = field(default_factory=Usage)
    estimated: bool = False
    retries: int = 0
    provider_request: str = ""
    """The provider's own name of it, for a person who asks them about it; the sandbox is not told."""


class Relay:
    """Relays the requests of one door."""

    def __init__(self, policy: DoorPolicy, ledger: Ledger, client: UpstreamClient) -> None:
        self._policy = policy
        self._ledger = ledger
        self._client = client

    async def run(
        self, request: web.BaseRequest, dialect: Dialect, payload: bytes, reserve: Reserve, note: Note
    ) -> web.StreamResponse:
        """Admit, send, pass on, settle. Raises `Refusal` at a cap and `UpstreamFailed` where nothing was passed on."""
        upstream = self._policy.upstream
        query = "?beta=true" if request.query.get("beta") == "true" else ""
        call = Call(upstream, dialect, query, upstream_headers(request.headers, upstream), payload)
        free = dialect is Dialect.COUNT_TOKENS
        ticket = await self._ledger.admit(reserve)
        counts: Counts | None = None
        answered = False
        try:
            async with self._client.exchange(call, partial(self._retried, note)) as live:
                answered = True
                if not free:
                    self._ledger.look(payload)
                ticket.hear(live.told)
                try:
                    return await self._pass_on(request, live, note, ticket)
                finally:
                    known, final = live.counts()
                    counts = settle(known, final=final, sent=len(payload), received=live.received)
                    note.estimated = not final
        except asyncio.CancelledError:
            # Cut by us while the provider may have been working: at least the input was used.
            counts = counts or Counts(estimated_tokens(len(payload)))
            note.estimated = True
            raise
        finally:
            note.usage = await self._ledger.settle(ticket, Counts() if free and counts else counts, answered=answered)

    async def _pass_on(self, request: web.BaseRequest, live: Live, note: Note, ticket: Ticket) -> web.StreamResponse:
        response = web.StreamResponse(status=live.status, headers=downstream_headers(live.headers))
        note.status = live.status
        note.provider_request = _request_id(live.headers)
        try:
            await response.prepare(request)
            async for chunk in _masked(live, self._policy.upstream):
                async with asyncio.timeout(SLOW_CLIENT_S):
                    await response.write(chunk)
                ticket.hear(live.told)
            await response.write_eof()
        except Broken as broken:
            line = failure_line(self._policy.upstream, broken.kind, detail=broken.detail)
            self._failed(note, broken.kind, line)
            _cut(request)
            return response
        except (ConnectionError, TimeoutError):
            _cut(request)  # the client is gone, or takes nothing: no failure of the provider
            return response
        error = live.meter.error if live.meter is not None else None
        if error is None:
            self._ledger.succeeded()
        else:
            kind = classify_error(error)
            detail = scrubbed(error.message, self._policy.upstream)
            self._failed(note, kind, failure_line(self._policy.upstream, kind, detail=detail))
        return response

    def _failed(self, note: Note, kind: ProviderFailure, line: str) -> None:
        note.failure = kind
        self._ledger.failed(kind, line)

    def _retried(self, note: Note, kind: ProviderFailure, lost_s: float) -> None:
        note.retries += 1
        self._ledger.retried(kind, lost_s)


def failed_answer(upstream: Upstream, failure: UpstreamFailed, note: Note) -> web.Response:
    """What the sandbox is told when the provider did not answer: never anything its CLI would try again.

    A provider's own words about the request itself are kept, because CLIs act on them (a context that is too long).
    Of all else it learns the kind alone: no address, no name of a key, no word of the provider's.
    """
    headers = {"x-should-retry": "false"}
    own_words = failure.kind in _AS_IT_IS and failure.body
    if own_words and (upstream.provider == "openai" or failure.status in {400, 413}):
        status = 400 if upstream.provider == "openai" else failure.status or 400
        return web.json_response(told_error(failure.body, upstream), status=status, headers=headers)
    status = final_status(upstream.provider)
    what = failure.kind.value.replace("_", " ")
    line = f"the model provider failed ({what}, {note.retries + 1} tries): honed knows; {NO_RETRY}"
    body = error_json(upstream.provider, line, code=failure.kind.value, status=status)
    return web.json_response(body, status=status, headers=headers)


async def _masked(live: Live, upstream: Upstream) -> AsyncIterator[bytes]:
    scrubber = KeyScrubber(upstream)
    async for chunk in live.chunks():
        passed = scrubber.feed(chunk)
        if passed:
            yield passed
    rest = scrubber.flush()
    if rest:
        yield rest


def reserve_for(dialect: Dialect, body: dict[str, Any], payload: bytes) -> Reserve:
    """The most that a request may cost: input by its size, output as it declares."""
    if dialect is Dialect.COUNT_TOKENS:
        return Reserve(0, 0)
    declared = [body.get(key) for key in ("max_output_tokens", "max_completion_tokens", "max_tokens")]
    bounds = [min(value, _MOST) for value in declared if isinstance(value, int) and value > 0]
    choices = body.get("n")
    times = min(choices, _MOST) if isinstance(choices, int) and choices > 1 else 1
    return Reserve(most_tokens(payload), max(bounds, default=DEFAULT_OUTPUT) * times)


def _request_id(headers: Mapping[str, str]) -> str:
    return shown(headers.get("x-request-id") or headers.get("request-id") or "", 100)


def _cut(request: web.BaseRequest) -> None:
    """Break the connection off, so that the client sees that the answer is not whole."""
    if request.transport is not None:
        request.transport.close()
