"""One JSON object to a provider, and one back: what both clients have in common, over plain HTTP.

Not over the providers' own libraries: they bring tens of megabytes along, which a process that mostly waits would hold
for months. The environment's proxies, organisations and second credentials are not trusted, redirects are not
followed, and nothing is tried again here: a request goes once, where the configuration says, with the key it says.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiohttp

from harnesses.models.retry import TryFailed
from sandboxes.gateway.dialects import Dialect
from sandboxes.gateway.failures import classify, parse_error
from sandboxes.gateway.policy import Provider, ProviderFailure, Upstream
from sandboxes.gateway.scrub import scrubbed
from sandboxes.gateway.tls import trusted
from sandboxes.gateway.unreachable import why_unreachable

CONNECT_S = 10.0
KEEP_S = 4.0
"""An idle connection is kept for so long: many servers drop theirs after five seconds."""
ANSWER_BYTES = 64 * 1024 * 1024
"""No honest answer is larger."""
_SLICE = 64 * 1024


class Transport:
    """The way to one provider. `close()` it when done; it opens its connections by itself."""

    def __init__(self, upstream: Upstream, dialect: Dialect, headers: Mapping[str, str] | None = None) -> None:
        self._upstream = upstream
        self._url = dialect.url(upstream.base_url)
        self._headers = {
            "authorization": f"Bearer {key_of(upstream, dialect.provider)}",
            "content-type": "application/json",
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": "honed",
            **(headers or {}),
        }
        self._session: aiohttp.ClientSession | None = None

    async def post(self, body: Mapping[str, Any]) -> Any:
        """The JSON that a 2xx came with, of whatever shape; raises `TryFailed` for anything else.

        The caller bounds the time; connecting has a bound of its own.
        """
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        try:
            # In pieces: large bytes at once hold up the loop.
            async with self._opened().post(
                self._url, data=io.BytesIO(data), headers=self._headers, allow_redirects=False
            ) as response:
                if not 200 <= response.status < 300:
                    raise await self._refused(response)
                answer = await _read(response, ANSWER_BYTES + 1)
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            if isinstance(error, aiohttp.ClientConnectorError):
                raise self._unreachable(error) from None
            raise TryFailed(ProviderFailure.CUT_STREAM) from None
        except aiohttp.ConnectionTimeoutError as error:
            raise self._unreachable(error) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if isinstance(error, TimeoutError):
                raise  # the caller's bound
            raise self._unreachable(error) from None
        if len(answer) > ANSWER_BYTES:
            raise bad_reply("an answer larger than 64 MiB")
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            raise bad_reply("not JSON") from None

    async def close(self) -> None:
        """Close its connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=trusted(), keepalive_timeout=KEEP_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=min(CONNECT_S, self._upstream.timeout_s)),
                trust_env=False,
            )
        return self._session

    async def _refused(self, response: aiohttp.ClientResponse) -> TryFailed:
        """An error answer, named."""
        headers = {name.lower(): value for name, value in response.headers.items()}
        try:
            body = await _read(response, _SLICE)
        except aiohttp.ClientError:
            body = b""  # the status alone tells enough
        kind = classify(response.status, body)
        detail = parse_error(body).message
        if 300 <= response.status < 400:
            detail = "redirects are not followed"
        if kind is ProviderFailure.AUTH:
            detail = ""  # such messages show parts of the key
        return TryFailed(kind, status=response.status, headers=headers, detail=scrubbed(detail, self._upstream))

    def _unreachable(self, error: Exception) -> TryFailed:
        return TryFailed(ProviderFailure.UNREACHABLE, detail=scrubbed(why_unreachable(error), self._upstream))


def bad_reply(what: str) -> TryFailed:
    """An answer that is none."""
    return TryFailed(ProviderFailure.BAD_REPLY, detail=what)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """What trips over an answer of another shape is that answer's fault."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise bad_reply(f"not {what} ({type(error).__name__})") from None


def usage_of(answer: Mapping[str, Any], what: str) -> dict[str, Any] | None:
    """The counts that an answer came with, if any."""
    usage = answer.get("usage")
    if usage is not None and not isinstance(usage, dict):
        raise bad_reply(f"{what} whose usage is no object")
    return usage


def schema_instruction(schema: dict[str, Any]) -> str:
    """Asks for JSON in words, where the provider cannot be asked natively."""
    return (
        "Reply with exactly one JSON object that satisfies this JSON schema, and nothing before or after it:\n"
        + json.dumps(schema, separators=(",", ":"))
    )


def key_of(upstream: Upstream, provider: Provider) -> str:
    """The real key, or a placeholder for servers that need none."""
    return upstream.api_key.get_secret_value().strip() or f"no-{provider}-key"


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    parts = bytearray()
    async for chunk in response.content.iter_any():
        parts += chunk
        if len(parts) >= most:
            return bytes(parts[:most])
    return bytes(parts)
