"""The real journal: SQLite in WAL mode, in one thread, readable by other processes while a run goes on."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptKey, AttemptRecord, Decision, RunRecord
from daemon.journal.rows import END_STATES, encode, encode_record, same_row
from daemon.journal.sqlite_read import SqliteReader


class SqliteJournal(SqliteReader):
    """Durable memory of one state directory: the `Journal` protocol on one file.

    `read_only` is for a second process (`honed log`): it neither makes nor changes the file.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        busy_timeout_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(path, read_only=read_only, busy_timeout_s=busy_timeout_s)
        self._clock = clock
        self._spans: dict[str, int] = {}
        """This process's own span by run."""

    async def open_run(self, run: RunRecord) -> None:
        """Write a new run."""
        if run.state != "open":
            raise JournalError(f"run {run.run_id} starts as {run.state!r}, not as 'open'")
        row = (run.run_id, run.fingerprint, run.skill, run.base_commit, run.state, run.started)

        def work(db: sqlite3.Connection) -> None:
            _refuse_second(db, "SELECT 1 FROM runs WHERE run_id = ?", run.run_id, f"run {run.run_id}")
            db.execute(
                "INSERT INTO runs (run_id, fingerprint, skill, base_commit, state, started) VALUES (?, ?, ?, ?, ?, ?)",
                row,
            )

        await self._db.write(work)

    async def end_run(self, run_id: str, state: str) -> None:
        """Mark `done` or `failed`; saying the same twice is no error."""
        if state not in END_STATES:
            raise JournalError(f"a run ends as one of {', '.join(END_STATES)}, not as {state!r}")

        def work(db: sqlite3.Connection) -> None:
            _known_run(db, run_id)
            changed = db.execute(
                "UPDATE runs SET state = ?1 WHERE run_id = ?2 AND state IN ('open', ?1)", (state, run_id)
            )
            if not changed.rowcount:
                raise JournalError(f"run {run_id} has ended already, and not as {state!r}")

        await self._db.write(work)

    async def plan_attempt(self, attempt_id: str, run_id: str, task_id: str, key: AttemptKey) -> None:
        """Say what is about to be done, before it is."""
        parts = encode(asdict(key), f"attempt {attempt_id}")

        def work(db: sqlite3.Connection) -> None:
            _known_run(db, run_id)
            _refuse_second(db, "SELECT 1 FROM attempts WHERE attempt_id = ?", attempt_id, f"attempt {attempt_id}")
            db.execute(
                "INSERT INTO attempts (attempt_id, run_id, task_id, key, key_parts, state, planned_at)"
                " VALUES (?, ?, ?, ?, ?, 'planned', ?)",
                (attempt_id, run_id, task_id, key.digest, parts, self._clock()),
            )
            self._seen(db, run_id)

        await self._db.write(work)

    async def finish_attempt(self, record: AttemptRecord) -> None:
        """Write the result; a scored one is found by its key from then on. The same result twice is no error."""
        text = encode_record(record)

        def work(db: sqlite3.Connection) -> None:
            sql = "SELECT state, key, task_id, record, run_id FROM attempts WHERE attempt_id = ?"
            row = db.execute(sql, (record.attempt_id,)).fetchone()
            state, key, task_id, old, run_id = row or (None, record.key, record.task_id, "", "")
            if state == "finished":
                same_row(old, text, f"attempt {record.attempt_id}")
                return
            if state != "planned":
                raise JournalError(f"attempt {record.attempt_id} is {state or 'not planned'}: it cannot be finished")
            if (key, task_id) != (record.key, record.task_id):
                raise JournalError(f"attempt {record.attempt_id} was planned for another task or with another key")
            db.execute(
                "UPDATE attempts SET state = 'finished', outcome = ?, score = ?, hard = ?, record = ?, finished_at = ?,"
                " finished_seq = (SELECT coalesce(max(finished_seq), 0) + 1 FROM attempts) WHERE attempt_id = ?",
                (record.outcome, record.score, record.hard, text, self._clock(), record.attempt_id),
            )
            self._seen(db, run_id)

        await self._db.write(work)

    async def abandon_attempts(self, attempt_ids: tuple[str, ...]) -> None:
        """Mark unfinished attempts as abandoned; finished and unknown ones are left as they are."""
        sql = "UPDATE attempts SET state = 'abandoned' WHERE attempt_id = ? AND state = 'planned'"
        ids = [(attempt_id,) for attempt_id in attempt_ids]
        await self._db.write(lambda db: db.executemany(sql, ids).rowcount)

    async def save_reply(self, run_id: str, place: str, prompt_digest: str, reply: dict[str, Any]) -> None:
        """Write a reply before it is used; the same again is no error, another one to the same prompt is."""
        what = f"the reply at {place}"
        find = "SELECT reply FROM replies WHERE run_id = ? AND place = ? AND prompt_digest = ?"
        make = "INSERT INTO replies (run_id, place, prompt_digest, reply, saved_at) VALUES (?, ?, ?, ?, ?)"
        await self._put(find, make, (run_id, place, prompt_digest), (encode(reply, what), self._clock()), what)

    async def save_decision(self, decision: Decision) -> None:
        """Write a decision; the same again is no error, another one at its place is."""
        what = f"the decision {decision.kind!r} of step {decision.step}"
        find = "SELECT payload FROM decisions WHERE run_id = ? AND step = ? AND kind = ?"
        make = "INSERT INTO decisions (run_id, step, kind, payload) VALUES (?, ?, ?, ?)"
        place = (decision.run_id, decision.step, decision.kind)
        await self._put(find, make, place, (encode(dict(decision.payload), what),), what)

    async def begin_span(self, run_id: str) -> None:
        """Say that this process works on a run from now on: its later rows then also say until when it did."""
        now = self._clock()

        def work(db: sqlite3.Connection) -> int | None:
            _known_run(db, run_id)
            return db.execute("INSERT INTO spans (run_id, started, seen) VALUES (?1, ?2, ?2)", (run_id, now)).lastrowid

        span = await self._db.write(work)
        if span is not None:
            self._spans[run_id] = span

    async def tidy(self) -> int:
        """Give room that is not needed back to the disk; returns the bytes. Quick where there is nothing to do."""
        return await self._db.tidy()

    async def _put(
        self, find: str, make: str, place: tuple[str, str | int, str], value: tuple[str, *tuple[float, ...]], what: str
    ) -> None:
        """Insert a row whose first value is JSON, unless the same one is at its place."""

        def work(db: sqlite3.Connection) -> None:
            _known_run(db, place[0])
            row = db.execute(find, place).fetchone()
            if row is not None:
                same_row(row[0], value[0], what)
                return
            db.execute(make, (*place, *value))
            self._seen(db, str(place[0]))

        await self._db.write(work)

    def _seen(self, db: sqlite3.Connection, run_id: str) -> None:
        """Stretch this process's span until now. A clock that was turned back shortens nothing."""
        if run_id in self._spans:
            db.execute("UPDATE spans SET seen = max(seen, ?) WHERE seq = ?", (self._clock(), self._spans[run_id]))


def _known_run(db: sqlite3.Connection, run_id: str | int) -> None:
    if db.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is None:
        raise JournalError(f"run {run_id} is not in the journal")


def _refuse_second(db: sqlite3.Connection, sql: str, key: str, what: str) -> None:
    if db.execute(sql, (key,)).fetchone() is not None:
        raise JournalError(f"{what} is in the journal already")
