"""The `Inbox` in memory, for tests and for reading without a state folder."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.inbox.inbox import LEAST_WORD, FileMark, Saved, age_of, stands
from daemon.inbox.record import SessionRecord


class MemoryInbox:
    """Forgets everything with the process."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[float, SessionRecord]] = {}
        self._marks: dict[str, FileMark] = {}

    async def save(self, record: SessionRecord, when: float) -> Saved:
        """Keep a session."""
        known = self._sessions.get(record.key)
        if known is not None and stands(known[1], record):
            return "known"
        self._sessions[record.key] = (age_of(record, when), record)
        return "new" if known is None else "grown"

    async def sessions(self, skill: str | None = None) -> tuple[SessionRecord, ...]:
        """What is kept, the newest first."""
        rows = sorted(self._sessions.values(), key=lambda row: (-row[0], row[1].key))
        return tuple(record for _, record in rows if skill is None or record.skill(skill))

    async def find(self, word: str) -> tuple[SessionRecord, ...]:
        """By the beginning of key or id."""
        if len(word) < LEAST_WORD:
            return ()
        return tuple(r for r in await self.sessions() if r.key.startswith(word) or r.session_id.startswith(word))

    async def settled(self) -> Mapping[str, str]:
        """Files that need not be read again."""
        return {mark.path: mark.state for mark in self._marks.values() if mark.settled}

    async def mark(self, mark: FileMark, when: float) -> None:
        """Remember that a file was read."""
        self._marks[mark.path] = mark

    async def prune(self, *, older_than: float, most: int) -> int:
        """Drop what is old, and what is too much."""
        keep = [r.key for r in await self.sessions() if self._sessions[r.key][0] >= older_than][:most]
        gone = [key for key in self._sessions if key not in keep]
        for key in gone:
            del self._sessions[key]
        return len(gone)

    async def close(self) -> None:
        """Nothing to close."""
