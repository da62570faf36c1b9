"""One SQLite file, one connection, one thread; every failure has a plain sentence.

Invariants: WAL and synchronous=FULL, so a row is on disk before the call returns; each `write` is one transaction;
a file of a newer honed, or of another program, is left alone.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from daemon.journal.journal import JournalError
from daemon.journal.schema import JOURNAL, Schema
from daemon.journal.tidying import tidy

_T = TypeVar("_T")
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another process is writing: stop the other honed",
    sqlite3.SQLITE_LOCKED: "another process is writing: stop the other honed",
    sqlite3.SQLITE_READONLY: "it is read-only: make the file and its folder writable",
    sqlite3.SQLITE_CORRUPT: "it is damaged: restore a backup, or move it away and start anew",
    sqlite3.SQLITE_NOTADB: "it is damaged or no journal: restore a backup, or move it away and start anew",
    sqlite3.SQLITE_FULL: "the disk is full: free some space and start again",
    sqlite3.SQLITE_IOERR: "the disk is full or gives errors: free some space, else check its file system",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check that the folder exists and may be written",
    sqlite3.SQLITE_PERM: "it may not be opened: check its permissions",
}
_MAKING = threading.Lock()
"""Nobody in this process connects to a file that is just being made: closing that descriptor would drop their locks."""


class Database:
    """The file behind a journal, or another file of honed's; opened in its own thread at the first call."""

    def __init__(
        self, path: Path, *, read_only: bool = False, busy_timeout_s: float = 10.0, schema: Schema = JOURNAL
    ) -> None:
        self.path = path
        self._schema = schema
        self.read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=schema.what)
        self._closed = False

    async def read(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run `work` on the connection; raises `JournalError`."""
        return await self._call(lambda: work(self._open()))

    async def write(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run `work` as one transaction, durable when this returns; raises `JournalError`, then nothing is written.

        A cancelled call is still written whole or not at all.
        """
        return await self._call(lambda: _transact(self._open(), work))

    async def tidy(self) -> int:
        """Fold the write-ahead log in, and give free pages back to the disk where that pays; returns bytes given back.

        Quick where there is nothing to do. A reader that is busy only puts it off.
        """
        return await self._call(lambda: tidy(self._open(), self.path))

    async def close(self) -> None:
        """Close the file; the second time nothing happens. Whoever is cancelled meanwhile closes it all the same."""
        if self._closed:
            return
        self._closed = True
        closing = asyncio.get_running_loop().run_in_executor(self._thread, self._plainly, self._close)
        try:
            await asyncio.shield(closing)
        finally:
            self._thread.shutdown(wait=True)

    @property
    def _name(self) -> str:
        return f"{self._schema.what} {self.path}"

    async def _call(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise JournalError(f"the {self._schema.what} {self.path} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._plainly, work)

    def _plainly(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            remedy = _REMEDIES.get(code & 0xFF) if isinstance(code, int) else None
            raise JournalError(f"{self._name}: {error} ({remedy or 'run `honed doctor`'})") from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None:
            return self._connection
        try:
            self._look()
        except OSError as error:
            raise JournalError(f"{self._name}: {error.strerror} (make the file and its folder writable)") from error
        mode = "ro" if self.read_only else "rw"
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, timeout=self._busy_timeout_s, isolation_level=None
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        return connection

    def _look(self) -> None:
        """See that the file is there and is one; make it where it may be made. Raises `OSError`, `JournalError`."""
        if self.path.is_dir():
            raise JournalError(f"{self._name} is a folder, and honed needs a file there: move it away")
        if not self.read_only:
            self._create()
            return
        with _MAKING:
            there = self.path.exists()
        if not there:
            raise JournalError(f"there is no {self._schema.what} at {self.path} (run `{self._schema.made_by}` first)")

    def _create(self) -> None:
        """Make the file for its owner alone: attempts may hold gold answers.

        One that is there is never opened here: closing it would drop the locks that this process' other connections
        hold on it, and another process could then take away the log that they still write to
        (sqlite.org/howtocorrupt.html, section 2.2).
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _MAKING, suppress(FileExistsError):
            _make(self.path)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA foreign_keys = ON")
        version = self._version(connection)
        if self.read_only:
            if version < len(self._schema.migrations):
                raise JournalError(f"{self._name} is of an older honed (run `{self._schema.made_by}` once to renew it)")
            connection.execute("PRAGMA query_only = ON")
            return
        mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise JournalError(f"{self._name}: no write-ahead log here (use a local disk, not a network share)")
        connection.execute("PRAGMA synchronous = FULL")
        if version < len(self._schema.migrations):
            _transact(connection, self._migrate)

    def _version(self, connection: sqlite3.Connection) -> int:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != self._schema.application_id and (application or version or tables):
            raise JournalError(f"{self.path} is another program's database (choose another state directory)")
        known = len(self._schema.migrations)
        if version > known:
            raise JournalError(f"{self._name} is of a newer honed: version {version}, known is {known} (update honed)")
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)  # again, inside the transaction: another process may have been faster
        for script in self._schema.migrations[version:]:
            for statement in script.split(";\n"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {self._schema.application_id}")
        connection.execute(f"PRAGMA user_version = {len(self._schema.migrations)}")


def _make(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _transact(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], _T]) -> _T:
    connection.execute("BEGIN IMMEDIATE")
    try:
        result = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite rolls back by itself on a full disk
            connection.execute("ROLLBACK")
        raise
    return result
