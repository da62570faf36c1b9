"""Reading a sandbox's request: bounded in bytes and in time, decoded, a JSON object, or a refusal that says why."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import TYPE_CHECKING, Any

from sandboxes.gateway.dialects import Refusal

if TYPE_CHECKING:
    from aiohttp import web

BODY_BYTES = 64 * 1024 * 1024
BODY_SECONDS = 60.0
BODY_PARTS = 2_000_000
"""Of JSON: three bytes of it may take seventy of ours, so that bytes alone bound nothing."""


async def read_json(request: web.BaseRequest, *, limit: int = BODY_BYTES, within_s: float = BODY_SECONDS) -> Any:
    """The request's body as JSON; raises `Refusal` for what is too large, too slow, oddly encoded or not an object."""
    try:
        async with asyncio.timeout(within_s):
            raw = await _read(request, limit)
    except TimeoutError:
        raise Refusal("body: too slow", f"the request's body took longer than {within_s:g} s", status=408) from None
    raw = _decoded(raw, request.headers.get("Content-Encoding", "").strip().lower(), limit)
    if sum(map(raw.count, (b"[", b"{", b","))) > BODY_PARTS:
        raise Refusal("body: too many parts", f"the request's body has more than {BODY_PARTS} parts", status=413)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise Refusal("body: not JSON", "the request's body is not JSON") from None
    if not isinstance(body, dict):
        raise Refusal("body: not an object", "the request's body is not a JSON object")
    return body


async def _read(request: web.BaseRequest, limit: int) -> bytes:
    parts = bytearray()
    async for chunk in request.content.iter_any():
        parts += chunk
        if len(parts) > limit:
            raise _too_large(limit)
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
    if not inflater.eof:
        raise Refusal("body: bad gzip", "the request's gzip body is cut short")
    return plain


def _too_large(limit: int) -> Refusal:
    return Refusal("body: too large", f"request bodies are limited to {limit} bytes", status=413)
