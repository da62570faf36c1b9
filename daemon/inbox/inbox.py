"""The inbox's protocol: what is kept of sessions, and which files were read already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from daemon.inbox.record import SessionRecord

Saved = Literal["new", "grown", "known"]
"""A session never seen; a longer or later reading of one; nothing that was not known."""


@dataclass(frozen=True)
class FileMark:
    """A file as it was when it was last read."""

    path: str
    """A digest of where it lies: the path itself may name a person."""
    state: str
    """A digest of size, time and identity: the same as long as nobody wrote to it."""
    settled: bool = True
    """False: the session went on when it was read, so it is to be read again later even if nobody writes to it."""


class Inbox(Protocol):
    """Keeps sessions by their key. Raises `JournalError` if it cannot be read or written."""

    async def save(self, record: SessionRecord, when: float) -> Saved:
        """Keep a session; of two readings of the same one, the larger file's, else the later reading's, stands."""

    async def sessions(self, skill: str | None = None) -> tuple[SessionRecord, ...]:
        """What is kept, the newest session first; `skill`: those in which it was listed or opened."""

    async def find(self, word: str) -> tuple[SessionRecord, ...]:
        """Sessions whose key or own id begins so (at least four characters), the newest first."""

    async def settled(self) -> Mapping[str, str]:
        """Files that need not be read again until somebody writes to them: `FileMark.state` by path."""

    async def mark(self, mark: FileMark, when: float) -> None:
        """Remember that a file was read."""

    async def prune(self, *, older_than: float, most: int) -> int:
        """Drop sessions that ended before `older_than` and all but the newest `most`; gives how many went."""

    async def close(self) -> None:
        """Close the store; the second time nothing happens."""


LEAST_WORD = 4
"""Characters of a key that name a session."""


def age_of(record: SessionRecord, when: float) -> float:
    """When a session is from: its own last moment, else when it was taken in; never later than that."""
    return min(record.ended, when) if record.ended is not None else when


def stands(known: SessionRecord, record: SessionRecord) -> bool:
    """What is known already says all that another reading of the session does."""
    if known.size != record.size:
        return known.size > record.size
    return known.digest == record.digest and (known.settled or not record.settled)
