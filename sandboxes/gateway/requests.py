"""Reading a sandbox's request: bounded in bytes and in time, decoded, a JSON object, or a refusal that says why."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import TYPE_CHECKING, Any

from aiohttp.web_protocol import RequestPayloadError

from sandboxes.gateway.dialects import Refusal

if TYPE_CHECKING:
    from aiohttp import web

    from sandboxes.gateway.buffers import Held

BODY_PARTS = 2_000_000
"""Of JSON: three bytes of it may take seventy of ours, so that bytes alone bound nothing."""


async def read_json(request: web.BaseRequest, held: Held, *, limit: int, within_s: float) -> Any:
    """The request's body as JSON; raises `Refusal` for what is too large, too slow, oddly encoded or not an object.

    `held` is told of every byte as it comes.
    """
    try:
        async with asyncio.timeout(within_s):
            raw = await _read(request, held, limit)
    except TimeoutError:
        raise Refusal("body: too slow", f"the request's body took longer than {within_s:g} s", status=408) from None
    raw = _decoded(raw, request.headers.get("Content-Encoding", "").strip().lower(), limit)
    if too_many_parts(raw):
        raise Refusal("body: too many parts", f"the request's body has more than {BODY_PARTS} parts", status=413)
    try:
        body = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Refusal("body: not JSON", "the request's body is not JSON") from None
    if not isinstance(body, dict):
        raise Refusal("body: not an object", "the request's body is not a JSON object")
    return body


def too_many_parts(raw: bytes) -> bool:
    """Whether JSON would take far more memory than its bytes do."""
    return sum(map(raw.count, (b"[", b"{", b","))) > BODY_PARTS


async def _read(request: web.BaseRequest, held: Held, limit: int) -> bytes:
    if (request.content_length or 0) > limit:
        raise _too_large(limit)
    parts = bytearray()
    try:
        async for chunk in request.content.iter_any():
            parts += chunk
            if len(parts) > limit:
                raise _too_large(limit)
            await held.grow(len(parts))
    except (RequestPayloadError, ConnectionError):
        raise Refusal("body: cut short", "the request's body ended before its end, or is malformed") from None
    return bytes(parts)


def _decoded(raw: bytes, encoding: str, limit: int) -> bytes:
    if encoding in {"", "identity"}:
        return raw
    if encoding not in {"gzip", "x-gzip"}:
        raise Refusal(f"encoding: {encoding[:40]}", "request bodies may be plain or gzip, nothing else", status=415)
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = inflater.decompress(raw, limit + 1)
    except zlib.error:
        raise Refusal("body: bad gzip", "the request's body is not valid gzip") from None
    if len(plain) > limit:
        raise _too_large(limit)
    if not inflater.eof or inflater.unused_data:
        raise Refusal("body: bad gzip", "the request's gzip body is cut short, or something follows it")
    return plain


def _no_constant(name: str) -> None:
    """JSON knows neither NaN nor infinities; Python does."""
    raise ValueError(name)


def _too_large(limit: int) -> Refusal:
    return Refusal("body: too large", f"request bodies are limited to {limit} bytes", status=413)
