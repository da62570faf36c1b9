"""Attacks that are one probe of `tests/support/captive` each: rows of a table, tried together in one box."""

from __future__ import annotations

from tests.hostile.attack import Area, Attack, Stage, add, holds
from tests.support.captives import seen


def row(probe: str, what: str, *errors: str, name: str = "") -> None:
    """Register a probe that must end in one of these errors, or in one of these sentences."""

    async def run(_: Stage) -> str:
        kind, observed = await seen(probe)
        return holds(kind in {"refused", "dead"} and observed in errors, f"{observed} ({kind})")

    expected = " or ".join(errors)
    add(Attack(Area.SANDBOX, name or f"box-{probe.replace('_', '-')}", what, expected, run, needs_engine=True))
