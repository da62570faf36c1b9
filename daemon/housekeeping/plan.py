"""Which attempts' folders to compress and which to remove: a pure function, asked again until nothing is left to do.

Invariants: what may still be wanted (an attempt that runs or waits for its score, the undecided step of an open run)
only goes by age; what is spared is not touched; the newest stay whatever the clock says; older ones go before newer.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from daemon.config_retention import RetentionSection
from sandboxes.sandbox import MIB

NEWEST = 20
"""Never removed by age: a clock that jumped ahead must not empty the folder."""
_SETTLED_S = 600.0
"""A folder that was touched a moment ago is not compressed for lack of room either."""


@dataclass(frozen=True)
class Kept:
    """What one attempt left."""

    attempt_id: str
    packed: bool
    size: int
    """Bytes on the disk."""
    touched: float
    """Unix time."""


@dataclass(frozen=True)
class Pack:
    """Compress it."""

    attempt_id: str


@dataclass(frozen=True)
class Prune:
    """Remove it."""

    attempt_id: str
    why: str


def plan(
    kept: Iterable[Kept],
    retention: RetentionSection,
    now: float,
    *,
    spared: Set[str] = frozenset(),
    wanted: Set[str] = frozenset(),
) -> tuple[Pack | Prune, ...]:
    """What to do now, oldest first; empty: nothing. `spared`: not to be touched; `wanted`: may be needed yet."""
    old_first = sorted(kept, key=lambda one: (one.touched, one.attempt_id))
    aged = [one for one in old_first[:-NEWEST] if _age(one, now) > retention.attempts_days * 86_400]
    pruned = {one.attempt_id for one in aged if one.attempt_id not in spared}
    free = [one for one in old_first if one.attempt_id not in spared | wanted and one.attempt_id not in pruned]
    done: list[Pack | Prune] = [Prune(one.attempt_id, "age") for one in aged if one.attempt_id in pruned]
    size = sum(one.size for one in old_first if one.attempt_id not in pruned)
    over = size - retention.attempts_mb * MIB
    least = _SETTLED_S if over > 0 else retention.compress_hours * 3600
    packs = [Pack(one.attempt_id) for one in free if not one.packed and _age(one, now) > least]
    if packs or over <= 0:
        return (*done, *packs)  # compressing may be enough: what it saves is seen the next time
    for one in free:
        if over <= 0:
            break
        done.append(Prune(one.attempt_id, "size"))
        over -= one.size
    return tuple(done)


def _age(one: Kept, now: float) -> float:
    """Seconds; nothing is older than now, whatever a clock that was turned back says."""
    return max(0.0, now - one.touched)
