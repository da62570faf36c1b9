"""Bounded retries for the model clients: the same backoff and the same names of failures as the gateway's."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import structlog

from sandboxes.gateway.backoff import Plan, next_wait, retry_after
from sandboxes.gateway.failures import failure_error, host_of, retryable
from sandboxes.gateway.policy import ProviderFailure, Upstream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

log = structlog.get_logger(__name__)
T = TypeVar("T")


class TryFailed(Exception):  # noqa: N818 - named for what happened; becomes a ProviderError when tries are used up
    """One try failed."""

    def __init__(
        self,
        kind: ProviderFailure,
        *,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(detail or kind.value)
        self.kind = kind
        self.status = status
        self.headers = headers or {}
        self.detail = detail


def _rng() -> random.Random:
    return random.Random()  # noqa: S311 - jitter, no secret


@dataclass
class Patience:
    """Sleep, clock and chance, injectable for tests."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    clock: Callable[[], float] = time.time
    rng: random.Random = field(default_factory=_rng)


async def with_retries(upstream: Upstream, patience: Patience, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until it answers, or raise `ProviderError` after `Upstream.tries` tries or `Upstream.retry_s` of waiting.

    `ask` raises `TryFailed`. A provider that stays silent is asked twice at most; one that refuses the key once more
    where another key can be got.
    """
    plan = Plan(upstream.tries, upstream.retry_s)
    failed, waited, renewed = 0, 0.0, False
    while True:
        used = upstream.key
        try:
            async with asyncio.timeout(upstream.timeout_s):
                return await ask()
        except TimeoutError:
            failure = TryFailed(ProviderFailure.TIMEOUT, detail=f"no reply within {upstream.timeout_s:g} s")
        except TryFailed as one:
            failure = one
        if failure.status == HTTPStatus.UNAUTHORIZED and upstream.renewal is not None and not renewed:
            renewed = await upstream.renewal.renewed(used, lambda: upstream.key)
            if renewed:
                continue
        failed += 1
        wait = None
        if retryable(failure.kind, failure.headers) and not (failure.kind is ProviderFailure.TIMEOUT and failed > 1):
            asked = retry_after(failure.headers, patience.clock())
            wait = next_wait(plan, failed=failed, waited_s=waited, asked_s=asked, rng=patience.rng)
        if wait is None:
            detail = failure.detail if failed == 1 else f"{failed} tries; {failure.detail}".rstrip("; ")
            raise failure_error(upstream, failure.kind, failure.status, detail)
        log.info(
            "provider retry",
            provider=upstream.provider,
            host=host_of(upstream.base_url),
            failure=failure.kind.value,
            wait_s=round(wait, 2),
        )
        await patience.sleep(wait)
        waited += wait
