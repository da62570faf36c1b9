"""How long to wait before the next try: exponential backoff with full jitter that honours the server's word.

Pure: the caller sleeps. Total waiting never exceeds the plan's budget, so that a provider that fails for ever
ends within a known time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

BASE_S = 0.5
CEILING_S = 20.0


@dataclass(frozen=True)
class Plan:
    """Bounds of one request's retries: tries in all, and seconds spent waiting between them."""

    tries: int
    budget_s: float


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the server asks to wait (`retry-after-ms`, then `Retry-After` as seconds or date); None if it does not.

    `headers` has lower-case names; `now` is Unix time.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    raw = headers.get("retry-after")
    seconds = _number(raw)
    if seconds is not None or not raw:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(raw).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def next_wait(plan: Plan, *, failed: int, waited_s: float, asked_s: float | None, rng: random.Random) -> float | None:
    """Seconds to wait after the `failed`-th failure in a row, or None to give up.

    Gives up when tries or budget are used up, and when the server asks for more time than is left: asking again
    earlier would only fail again.
    """
    left = plan.budget_s - waited_s
    if failed >= plan.tries or left <= 0:
        return None
    if asked_s is not None:
        return None if asked_s > left else min(left, asked_s + rng.uniform(0, BASE_S))
    ceiling = min(CEILING_S, BASE_S * 2.0 ** (failed - 1))
    return min(left, rng.uniform(0, ceiling))


def _number(raw: str | None) -> float | None:
    try:
        value = float(raw) if raw else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
