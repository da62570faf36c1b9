"""What follows from what a dead honed left: a pure function from everything seen to actions, in order.

Nothing of ours lives when it is asked: whoever asks holds the state folder's lock and has begun nothing yet. Evidence
has three values, and what proves an end beats what proves nothing. Invariants: every planned attempt comes to exactly
one end, or waits for its score; acting twice on the same sight changes nothing more, and after acting there is nothing
left to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal

from sandboxes.left import LeftBox, is_left

Phase = Literal["step", "slow_update"]
"""What commits belong to, and the kind of the decision that they carry out."""


class Evidence(StrEnum):
    """Whether something still lives."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


def together(*evidence: Evidence) -> Evidence:
    """Dead beats all: one proof of an end is enough. Alive beats unknown."""
    for value in (Evidence.DEAD, Evidence.ALIVE):
        if value in evidence:
            return value
    return Evidence.UNKNOWN


@dataclass(frozen=True)
class OpenRun:
    """A run that the journal has open."""

    run_id: str
    trains: bool
    """False: it scores a skill as it stands, and nobody goes on with it."""


@dataclass(frozen=True)
class Accepted:
    """An accepted decision of an open run, and what is known of its commits."""

    run_id: str
    step: int
    phase: Phase
    noted: bool
    """The journal remembers that they were made."""
    commits: tuple[str, ...] | None
    """Those on the branch with its trailers, oldest first; None: the repository cannot be read."""


@dataclass(frozen=True)
class Leftover:
    """A file or folder that only a process needs."""

    path: Path
    owner: Evidence


@dataclass(frozen=True)
class Seen:
    """Everything that is looked at."""

    now: float
    """Unix time."""
    planned: tuple[str, ...] = ()
    """Attempts that the journal has begun and not ended, in order of planning."""
    receipts: Mapping[str, str] = field(default_factory=dict)
    """Attempts whose folder says that they had ended: id to key."""
    stale: frozenset[str] = frozenset()
    """Of the planned ones, those whose run has ended: nobody may ever ask for their content again."""
    boxes: tuple[LeftBox, ...] | None = ()
    """None: the engine does not answer."""
    runs: tuple[OpenRun, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    leftovers: tuple[Leftover, ...] = ()


@dataclass(frozen=True)
class RemoveBox:
    """Nobody will come back for it."""

    name: str
    why: str


@dataclass(frozen=True)
class Collect:
    """It had ended: it waits until its content is asked for, and is scored then."""

    attempt_id: str
    key: str


@dataclass(frozen=True)
class Abandon:
    """It has no result, and may be made anew."""

    attempt_id: str
    why: str


@dataclass(frozen=True)
class EndRun:
    """Nobody goes on with it."""

    run_id: str
    why: str


@dataclass(frozen=True)
class NoteCommits:
    """The branch has the commits, the journal does not say so yet."""

    run_id: str
    step: int
    phase: Phase
    commits: tuple[str, ...]


@dataclass(frozen=True)
class CompleteCommit:
    """Accepted, and not on the branch: the run commits it first thing when it goes on."""

    run_id: str
    step: int
    phase: Phase


@dataclass(frozen=True)
class DropCommit:
    """It was on the branch, and a person took it off: it is never put back, and its run does not go on."""

    run_id: str
    step: int
    phase: Phase


@dataclass(frozen=True)
class Remove:
    """Scratch that a dead process left."""

    path: Path


Action = RemoveBox | Collect | Abandon | EndRun | NoteCommits | CompleteCommit | DropCommit | Remove


def reconcile(seen: Seen) -> tuple[Action, ...]:
    """What to do, in order: rows are moved before the evidence for them is removed."""
    return (*_attempts(seen), *_runs(seen), *_commits(seen), *_boxes(seen), *_leftovers(seen))


def _attempts(seen: Seen) -> list[Action]:
    actions: list[Action] = []
    waiting: set[str] = set()
    for attempt_id in seen.planned:
        key = seen.receipts.get(attempt_id)
        if key is not None and key not in waiting and attempt_id not in seen.stale:
            waiting.add(key)
            actions.append(Collect(attempt_id, key))
        else:
            actions.append(Abandon(attempt_id, _why(attempt_id, seen, twice=key is not None)))
    return actions


def _why(attempt_id: str, seen: Seen, *, twice: bool) -> str:
    if attempt_id in seen.stale:
        return "its run has ended without asking for it"
    if twice:
        return "an equal one had ended, too"
    if seen.boxes is None:
        return "its honed died; the engine does not tell what became of its box"
    states = [_state(box) for box in seen.boxes if box.ours and box.attempt_id == attempt_id]
    if not states:
        return "its honed died before it ended"
    if together(*states) is Evidence.DEAD:
        return "its box ended while nobody listened: what it printed and what its door saw are lost"
    return "its honed died: what its box printed since, and what its door counted, are lost"


def _state(box: LeftBox) -> Evidence:
    return {True: Evidence.ALIVE, False: Evidence.DEAD, None: Evidence.UNKNOWN}[box.running]


def _runs(seen: Seen) -> list[Action]:
    over = [run.run_id for run in seen.runs if not run.trains]
    return [EndRun(run_id, "it scored a skill when its honed died: the same command scores anew") for run_id in over]


def _commits(seen: Seen) -> list[Action]:
    actions: list[Action] = []
    for one in seen.accepted:
        if one.commits is None:
            continue  # a repository that cannot be read proves nothing
        if one.commits and not one.noted:
            actions.append(NoteCommits(one.run_id, one.step, one.phase, one.commits))
        elif not one.commits:
            kind = DropCommit if one.noted else CompleteCommit
            actions.append(kind(one.run_id, one.step, one.phase))
    return actions


def _boxes(seen: Seen) -> list[Action]:
    left = [box for box in seen.boxes or () if is_left(box, frozenset(), seen.now)]
    return [RemoveBox(box.name, _orphan(box, seen)) for box in left]


def _orphan(box: LeftBox, seen: Seen) -> str:
    if not box.ours:
        return "its deadline has passed"
    return "its honed died" if box.attempt_id in seen.planned else "its attempt has ended"


def _leftovers(seen: Seen) -> list[Action]:
    return [Remove(one.path) for one in seen.leftovers if one.owner is Evidence.DEAD]
