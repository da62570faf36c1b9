"""The two ways a notification goes: to a program's stdin, and by a signed POST to a server.

Invariants: a program runs without a shell, with an environment that holds no key, and is ended with what it started; a
post goes to the configured address alone (no redirect, no proxy), and what is said of a failure names its host only.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import aiohttp

from daemon import __version__
from daemon.service.desk import ProjectStatus
from daemon.telling.notification import Notification
from daemon.telling.observing import one_line
from sandboxes.gateway.backoff import Plan, next_wait, retry_after
from sandboxes.gateway.tls import trusted
from skills_repo.processes import run_awaited

RETRY_S = 60.0
"""Most time spent waiting between the tries of one post."""
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR")
_AGAIN = frozenset({408, 425, 429})


class HookError(Exception):
    """A notification could not be delivered; `str()` is one line."""


class Way(Protocol):
    """How a notification is delivered."""

    @property
    def name(self) -> str:
        """`command` or `webhook`."""

    async def deliver(self, notification: Notification, project: ProjectStatus | None) -> None:
        """Deliver it; raises `HookError` once that is given up."""

    async def close(self) -> None:
        """Give connections back."""


@dataclass(frozen=True)
class Command:
    """A program, once for each notification."""

    argv: tuple[str, ...]
    folder: Path
    timeout_s: float
    name: str = "command"

    async def deliver(self, notification: Notification, project: ProjectStatus | None) -> None:
        """As `Way.deliver`."""
        env = {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
        body = notification.body(project, time.time()) + b"\n"
        program = one_line(self.argv[0])
        try:
            code, said = await run_awaited(self.argv, self.folder, env, stdin=body, timeout_s=self.timeout_s, keep=200)
        except TimeoutError as error:
            raise HookError(f"{program} did not end within {self.timeout_s:g} s and was killed") from error
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise HookError(f"{program} cannot be run: {reason}") from error
        if code:
            words = one_line(said.decode("utf-8", "replace"))
            raise HookError(f"{program} ended with code {code}{f': {words}' if words else ''}")

    async def close(self) -> None:
        """Nothing is open."""


def signature(secret: bytes, body: bytes) -> str:
    """The value of `X-Honed-Signature` for a body."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


@dataclass
class Webhook:
    """A server that is posted to."""

    url: str
    secret: bytes = field(repr=False)
    timeout_s: float
    tries: int
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    name: str = "webhook"
    _session: aiohttp.ClientSession | None = field(default=None, repr=False)
    _rng: random.Random = field(default_factory=random.Random, repr=False)

    async def deliver(self, notification: Notification, project: ProjectStatus | None) -> None:
        """As `Way.deliver`; every try has the same delivery id and a `sent` of its own."""
        plan, failed, waited = Plan(self.tries, RETRY_S), 0, 0.0
        host = urlsplit(self.url).hostname
        while True:
            wrong, again, asked = await self._try(notification, project)
            if not wrong:
                return
            failed += 1
            wait = None
            if again:
                wait = next_wait(plan, failed=failed, waited_s=waited, asked_s=asked, rng=self._rng)
            if wait is None:
                raise HookError(f"{host}: {wrong}{f' ({failed} tries)' if failed > 1 else ''}")
            await self.sleep(wait)
            waited += wait

    async def _try(self, notification: Notification, project: ProjectStatus | None) -> tuple[str, bool, float | None]:
        """What went wrong (empty: nothing), whether it may pass, and how long the server asks to wait."""
        body = notification.body(project, time.time())
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"honed/{__version__}",
            "X-Honed-Event": notification.name,
            "X-Honed-Delivery": notification.delivery,
            "X-Honed-Signature": signature(self.secret, body),
        }
        try:
            async with self._opened().post(self.url, data=body, headers=headers, allow_redirects=False) as answer:
                status = answer.status
                asked = retry_after({name.lower(): value for name, value in answer.headers.items()}, time.time())
                answer.close()  # what it says is of no use, and may be without end
        except TimeoutError:
            return f"no answer within {self.timeout_s:g} s", True, None
        except aiohttp.ClientConnectorCertificateError:
            return "its TLS certificate is not trusted", False, None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return f"cannot be reached ({type(error).__name__})", True, None
        if 200 <= status < 300:
            return "", False, None
        if 300 <= status < 400:
            return f"answered {status}, and redirects are not followed", False, None
        return f"answered {status}", status in _AGAIN or status >= 500, asked

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=1, ssl=trusted(), force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self.timeout_s),
                trust_env=False,
            )
        return self._session

    async def close(self) -> None:
        """As `Way.close`."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
