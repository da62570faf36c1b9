"""HTTP to a forge: retries, rate limits, pagination, and errors that name what to mend.

Invariants: the token is in one header and nowhere else; it goes to the configured address alone (no redirect is
followed, a next page elsewhere is refused); waiting is bounded.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from skills_repo.publish.access import Access
from skills_repo.publish.address import is_loopback
from skills_repo.publish.errors import PublishError
from skills_repo.publish.refused import refusal

TRIES = 4
MAX_WAIT_S = 60.0
"""Of all waits of one request; a forge that asks for more is asked again another day."""
MAX_PAGES = 50
MAX_REPLY = 16 * 1024 * 1024
_SECONDS = re.compile(r"[0-9]{1,15}")
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    data: Any
    """The JSON; None if there was none."""
    next_page: str | None = None


class ForgeHttp:
    """JSON requests to one forge."""

    def __init__(self, access: Access, *, sleep: Sleep = asyncio.sleep) -> None:
        self.access = access
        self._sleep = sleep
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Give the connections back."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        taken: tuple[int, ...] = (),
    ) -> Reply:
        """One request below the API's address, tried again where that may help.

        Answers with a status in `taken` are handed back like good ones; other failures raise `PublishError`.
        """
        url = path if path.startswith(self.access.api_url + "/") else self.access.api_url + path
        waited = 0.0
        for attempt in range(1, TRIES + 1):
            reply, fault = await self._try(method, url, query, body)
            if reply is not None and (reply.status < 300 or reply.status in taken):
                return reply
            wait = _wait(reply, attempt, time.time())
            if wait is None or attempt == TRIES or waited + wait > MAX_WAIT_S:
                raise refusal(self.access, reply, fault=fault, wait=wait)
            waited += wait
            await self._sleep(wait)
        raise AssertionError("unreachable")

    async def pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
        """Every object of a list, page after page (RFC 8288 links)."""
        reply = await self.call("GET", path, query={**query, "per_page": "100"})
        for _ in range(MAX_PAGES):
            if not isinstance(reply.data, list):
                raise self.odd(path)
            for row in reply.data:
                if not isinstance(row, dict):
                    raise self.odd(path)
                yield row
            if reply.next_page is None:
                return
            if not reply.next_page.startswith(self.access.api_url + "/"):
                msg = f"{self.access.forge} sent a next page outside of {self.access.api_url}: nothing was asked there"
                raise PublishError(f"{msg} (mend [publish] api_url)")
            reply = await self.call("GET", reply.next_page)

    def odd(self, path: str) -> PublishError:
        """An answer that is not what the forge documents."""
        return PublishError(
            f"{self.access.forge} answered {path} with something else than its API documents (check [publish] api_url "
            "and forge)"
        )

    async def _try(
        self, method: str, url: str, query: Mapping[str, str] | None, body: Mapping[str, Any] | None
    ) -> tuple[Reply | None, str]:
        """The answer, or why there is none."""
        session = self._open()
        try:
            async with session.request(
                method, url, params=query, json=body, allow_redirects=False, proxy=proxy_for(url)
            ) as response:
                raw = b"".join([part async for part in _bounded(response)])
                return Reply(
                    response.status,
                    {name.lower(): value for name, value in response.headers.items()},
                    _json(raw),
                    self._next_page(response, url),
                ), ""
        except TimeoutError:
            return None, f"no answer within {self.access.timeout_s:g} s"
        except (aiohttp.ClientError, OSError) as error:
            return None, " ".join(str(error).split())[:200] or type(error).__name__

    def _next_page(self, response: aiohttp.ClientResponse, url: str) -> str | None:
        """Where the list goes on, if it does."""
        try:
            following = response.links["next"].get("url") if "next" in response.links else None
        except ValueError as error:  # no address at all
            raise self.odd(urlsplit(url).path) from error
        return None if following is None else str(following)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={"User-Agent": "honed", **self.access.headers},
                timeout=aiohttp.ClientTimeout(total=self.access.timeout_s),
            )
        return self._session


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for an address.

    aiohttp's own way would read `~/.netrc` as well, and send what stands there in the token's place.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


async def _bounded(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    left = MAX_REPLY
    async for part in response.content.iter_chunked(65_536):
        yield part[:left]
        left -= len(part)
        if left <= 0:
            return


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _wait(reply: Reply | None, attempt: int, now: float) -> float | None:
    """Seconds until another try makes sense; None where it never does."""
    backoff = float(2 ** (attempt - 1))
    if reply is None or reply.status in (500, 502, 503, 504):
        return max(backoff, _asked(reply, now) or 0.0)
    if is_rate_limit(reply):
        asked = _asked(reply, now)
        return backoff if asked is None else asked
    return None


def is_rate_limit(reply: Reply) -> bool:
    """429, or GitHub's 403 with an empty quota or an abuse limit."""
    headers = reply.headers
    left = headers.get("x-ratelimit-remaining", headers.get("ratelimit-remaining", ""))
    return reply.status == 429 or (reply.status == 403 and ("retry-after" in headers or left == "0"))


def _asked(reply: Reply | None, now: float) -> float | None:
    """How long the forge wants to be left alone; None if it does not say."""
    headers = {} if reply is None else reply.headers
    after = headers.get("retry-after", "")
    if _SECONDS.fullmatch(after):
        return float(after)
    reset = headers.get("x-ratelimit-reset", headers.get("ratelimit-reset", ""))
    return max(1.0, float(reset) - now) if _SECONDS.fullmatch(reset) else None
