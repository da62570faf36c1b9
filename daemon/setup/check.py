"""One row of `honed doctor`."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Literal

import structlog

State = Literal["ok", "warn", "fail"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Check:
    """What was looked at and what came of it."""

    name: str
    state: State
    """`fail` exactly when the main job could not run with this configuration."""
    detail: str
    """One line; never a key's value."""
    remedy: str = ""
    """The command or the configuration key that mends it; empty when there is nothing to mend."""


def can_run(checks: Iterable[Check]) -> bool:
    """True if no row fails."""
    return all(check.state != "fail" for check in checks)


async def guarded(name: str, work: Awaitable[Check]) -> Check:
    """The row, or a failing one if the check itself broke: one broken check must not hide the others."""
    try:
        return await work
    except Exception as error:
        log.exception("a check broke", check=name)
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Check(name, "fail", f"the check itself broke: {what}", "please report it with this line")
