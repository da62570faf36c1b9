"""The real `Inbox`: one SQLite file of its own beside the journal, which may be deleted without harm to any run.

Besides sessions it remembers which files were read, by digests that name nobody; those marks are kept in bounds too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from daemon.inbox.inbox import LEAST_WORD, FileMark, Saved, age_of, stands
from daemon.inbox.record import SessionRecord
from daemon.journal.database import Database
from daemon.journal.journal import JournalError
from daemon.journal.schema import Schema

FILE = "inbox.sqlite"
MOST_MARKS = 20_000

_FIRST = """
CREATE TABLE sessions (
  key TEXT PRIMARY KEY,
  session_id TEXT NOT NULL,
  age REAL NOT NULL,
  record TEXT NOT NULL CHECK (json_valid(record))
) STRICT;
CREATE INDEX sessions_by_age ON sessions (age);

CREATE TABLE skills (
  key TEXT NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
  skill TEXT NOT NULL,
  PRIMARY KEY (skill, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
  path TEXT PRIMARY KEY,
  state TEXT NOT NULL,
  settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
  seen REAL NOT NULL
) STRICT;
"""

INBOX = Schema("inbox", 0x686F6E69, (_FIRST,), "honed inbox add")
"""`honi` in ASCII."""

_OF_SKILL = """
SELECT record FROM sessions WHERE ?1 IS NULL OR key IN (SELECT key FROM skills WHERE skill = ?1)
ORDER BY age DESC, key
"""
_BY_NAME = """
SELECT record FROM sessions WHERE substr(key, 1, length(?1)) = ?1 OR substr(session_id, 1, length(?1)) = ?1
ORDER BY age DESC, key
"""


class SqliteInbox:
    """Durable memory of what was learned of sessions. `read_only` neither makes nor changes the file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._db = Database(path, read_only=read_only, schema=INBOX)

    async def save(self, record: SessionRecord, when: float) -> Saved:
        """Keep a session, durable when this returns."""
        text = record.model_dump_json(exclude_defaults=True)

        def work(db: sqlite3.Connection) -> Saved:
            row = db.execute("SELECT record FROM sessions WHERE key = ?", (record.key,)).fetchone()
            if row is not None and stands(_parsed(row[0]), record):
                return "known"
            db.execute("DELETE FROM sessions WHERE key = ?", (record.key,))
            db.execute(
                "INSERT INTO sessions (key, session_id, age, record) VALUES (?, ?, ?, ?)",
                (record.key, record.session_id, age_of(record, when), text),
            )
            names = sorted({one.name for one in record.skills})
            db.executemany("INSERT INTO skills (key, skill) VALUES (?, ?)", [(record.key, name) for name in names])
            return "new" if row is None else "grown"

        return await self._db.write(work)

    async def sessions(self, skill: str | None = None) -> tuple[SessionRecord, ...]:
        """What is kept, the newest first."""
        return await self._read(_OF_SKILL, (skill,))

    async def find(self, word: str) -> tuple[SessionRecord, ...]:
        """By the beginning of key or id."""
        if len(word) < LEAST_WORD:
            return ()
        return await self._read(_BY_NAME, (word,))

    async def settled(self) -> Mapping[str, str]:
        """Files that need not be read again."""
        sql = "SELECT path, state FROM files WHERE settled = 1"
        return dict(await self._db.read(lambda db: db.execute(sql).fetchall()))

    async def mark(self, mark: FileMark, when: float) -> None:
        """Remember that a file was read."""
        row = (mark.path, mark.state, int(mark.settled), when)

        def work(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO files (path, state, settled, seen) VALUES (?, ?, ?, ?)", row)

        await self._db.write(work)

    async def prune(self, *, older_than: float, most: int) -> int:
        """Drop what is old, and what is too much."""

        def work(db: sqlite3.Connection) -> int:
            keep = "SELECT key FROM sessions WHERE age >= ? ORDER BY age DESC, key LIMIT ?"
            gone = db.execute(f"DELETE FROM sessions WHERE key NOT IN ({keep})", (older_than, most)).rowcount  # noqa: S608
            marks = "SELECT path FROM files ORDER BY seen DESC, path LIMIT ?"
            db.execute(f"DELETE FROM files WHERE path NOT IN ({marks})", (MOST_MARKS,))  # noqa: S608
            return gone

        return await self._db.write(work)

    async def close(self) -> None:
        """Close the file."""
        await self._db.close()

    async def _read(self, sql: str, values: tuple[str | None, ...]) -> tuple[SessionRecord, ...]:
        return await self._db.read(lambda db: tuple(_parsed(row[0]) for row in db.execute(sql, values)))


def _parsed(text: str) -> SessionRecord:
    try:
        return SessionRecord.model_validate_json(text)
    except ValidationError as error:
        msg = f"the inbox holds a session that this honed cannot read: {error.error_count()} faults (delete {FILE})"
        raise JournalError(msg) from error
