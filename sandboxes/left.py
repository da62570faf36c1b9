"""Boxes that an engine still knows of, and which of them nobody will ever come back for.

One rule for every engine: ours that are not kept, and anybody's whose deadline has passed.
"""

from __future__ import annotations

import time
from collections.abc import Set
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class LeftBox:
    """A box as its engine tells of it; none of ours that is open in this process."""

    name: str
    """For people, and what `Sandbox.remove` takes."""
    attempt_id: str
    """Empty where its label is missing."""
    ours: bool
    """Of this state folder."""
    running: bool | None
    """None: the engine cannot say."""
    deadline: float | None = None
    """Unix time; None where it carries none that can be read."""


_OPEN: dict[str, set[str]] = {}


def open_here(owner: str) -> set[str]:
    """Attempts whose boxes are open in this process, to be kept up by engines: one set an owner, shared by them all."""
    return _OPEN.setdefault(owner, set())


def is_left(box: LeftBox, keep: Set[str], now: float) -> bool:
    """It may be removed: `keep` names attempts of ours that are still wanted."""
    if box.ours:
        return box.attempt_id not in keep
    return box.deadline is not None and box.deadline < now


class Removes(Protocol):
    """The part of an engine that a sweep needs."""

    async def boxes(self) -> tuple[LeftBox, ...]:
        """As `Sandbox.boxes`."""

    async def remove(self, name: str) -> bool:
        """As `Sandbox.remove`."""


async def sweep(engine: Removes, keep: Set[str]) -> tuple[str, ...]:
    """Remove what is left, apart from the attempts to keep; returns the names of what was removed."""
    now = time.time()
    left = [box.name for box in await engine.boxes() if is_left(box, keep, now)]
    return tuple([name for name in left if await engine.remove(name)])
