"""The real journal: SQLite in WAL mode, in one thread, readable by other processes while a run goes on."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any

from daemon.journal.database import Database
from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptKey, AttemptRecord, Decision, RunRecord
from daemon.journal.rows import END_STATES, decode_record, encode, encode_record, same_row

_RUN = "SELECT run_id, fingerprint, skill, base_commit, state, started FROM runs"


class SqliteJournal:
    """Durable memory of one state directory: the `Journal` protocol on one file.

    `read_only` is for a second process (`honed log`): it neither makes nor changes the file.
    """

    def __init__(self, path: Path, *, read_only: bool = False, busy_timeout_s: float = 10.0) -> None:
        self._db = Database(path, read_only=read_only, busy_timeout_s=busy_timeout_s)

    async def find_open_run(self, skill: str, fingerprint: str) -> RunRecord | None:
        """The unfinished run to resume, if any: the newest."""
        sql = f"{_RUN} WHERE skill = ? AND fingerprint = ? AND state = 'open' ORDER BY seq DESC LIMIT 1"
        row = await self._one(sql, skill, fingerprint)
        return None if row is None else RunRecord(*row)

    async def find_runs(self, skill: str | None = None) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""
        rows = await self._all(f"{_RUN} WHERE ?1 IS NULL OR skill = ?1 ORDER BY seq", skill)
        return tuple(RunRecord(*row) for row in rows)

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
                "INSERT INTO attempts (attempt_id, run_id, task_id, key, key_parts, state)"
                " VALUES (?, ?, ?, ?, ?, 'planned')",
                (attempt_id, run_id, task_id, key.digest, parts),
            )

        await self._db.write(work)

    async def finish_attempt(self, record: AttemptRecord) -> None:
        """Write the result; a scored one is found by its key from then on. The same result twice is no error."""
        text = encode_record(record)

        def work(db: sqlite3.Connection) -> None:
            sql = "SELECT state, key, task_id, record FROM attempts WHERE attempt_id = ?"
            row = db.execute(sql, (record.attempt_id,)).fetchone()
            state, key, task_id, old = row or (None, record.key, record.task_id, "")
            if state == "finished":
                same_row(old, text, f"attempt {record.attempt_id}")
                return
            if state != "planned":
                raise JournalError(f"attempt {record.attempt_id} is {state or 'not planned'}: it cannot be finished")
            if (key, task_id) != (record.key, record.task_id):
                raise JournalError(f"attempt {record.attempt_id} was planned for another task or with another key")
            db.execute(
                "UPDATE attempts SET state = 'finished', outcome = ?, score = ?, hard = ?, record = ?,"
                " finished_seq = (SELECT coalesce(max(finished_seq), 0) + 1 FROM attempts) WHERE attempt_id = ?",
                (record.outcome, record.score, record.hard, text, record.attempt_id),
            )

        await self._db.write(work)

    async def find_scored(self, key: AttemptKey) -> AttemptRecord | None:
        """The valid result of equal content that was finished first. Invalid attempts are never found."""
        sql = "SELECT record FROM attempts WHERE key = ? AND score IS NOT NULL ORDER BY finished_seq LIMIT 1"
        row = await self._one(sql, key.digest)
        return None if row is None else decode_record(row[0])

    async def attempts(self, run_id: str) -> tuple[AttemptRecord, ...]:
        """Every finished attempt planned under a run, in order of planning."""
        sql = "SELECT record FROM attempts WHERE run_id = ? AND state = 'finished' ORDER BY seq"
        return tuple(decode_record(row[0]) for row in await self._all(sql, run_id))

    async def unfinished_attempts(self) -> tuple[str, ...]:
        """Ids planned but not finished, in order of planning."""
        rows = await self._all("SELECT attempt_id FROM attempts WHERE state = 'planned' ORDER BY seq")
        return tuple(row[0] for row in rows)

    async def abandon_attempts(self, attempt_ids: tuple[str, ...]) -> None:
        """Mark unfinished attempts as abandoned; finished and unknown ones are left as they are."""
        sql = "UPDATE attempts SET state = 'abandoned' WHERE attempt_id = ? AND state = 'planned'"
        ids = [(attempt_id,) for attempt_id in attempt_ids]
        await self._db.write(lambda db: db.executemany(sql, ids).rowcount)

    async def find_reply(self, run_id: str, place: str, prompt_digest: str) -> dict[str, Any] | None:
        """The optimizer's reply at a place to exactly this prompt, if it was paid for."""
        sql = "SELECT reply FROM replies WHERE run_id = ? AND place = ? AND prompt_digest = ?"
        row = await self._one(sql, run_id, place, prompt_digest)
        return None if row is None else dict(json.loads(row[0]))

    async def save_reply(self, run_id: str, place: str, prompt_digest: str, reply: dict[str, Any]) -> None:
        """Write a reply before it is used; the same again is no error, another one to the same prompt is."""
        what = f"the reply at {place}"
        await self._put(
            ("replies", "reply", "run_id", "place", "prompt_digest"), (run_id, place, prompt_digest), reply, what
        )

    async def find_decision(self, run_id: str, step: int, kind: str) -> Decision | None:
        """What was decided, if it was."""
        sql = "SELECT payload FROM decisions WHERE run_id = ? AND step = ? AND kind = ?"
        row = await self._one(sql, run_id, step, kind)
        return None if row is None else Decision(run_id, step, kind, json.loads(row[0]))

    async def save_decision(self, decision: Decision) -> None:
        """Write a decision; the same again is no error, another one at its place is."""
        what = f"the decision {decision.kind!r} of step {decision.step}"
        place = (decision.run_id, decision.step, decision.kind)
        await self._put(("decisions", "payload", "run_id", "step", "kind"), place, dict(decision.payload), what)

    async def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """All decisions of a run by step, within a step in order of writing."""
        rows = await self._all("SELECT step, kind, payload FROM decisions WHERE run_id = ? ORDER BY step, seq", run_id)
        return tuple(Decision(run_id, step, kind, json.loads(payload)) for step, kind, payload in rows)

    async def close(self) -> None:
        """Close the file."""
        await self._db.close()

    async def _one(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = await self._db.read(lambda db: db.execute(sql, values).fetchone())
        return row

    async def _all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._db.read(lambda db: db.execute(sql, values).fetchall())

    async def _put(
        self, names: tuple[str, str, str, str, str], place: tuple[str, str | int, str], value: dict[str, Any], what: str
    ) -> None:
        """Insert into table `names[0]` the JSON column `names[1]` at the place of the other three columns."""
        table, column, *keys = names
        text = encode(value, what)

        def work(db: sqlite3.Connection) -> None:
            _known_run(db, place[0])
            where = " AND ".join(f"{key} = ?" for key in keys)
            row = db.execute(f"SELECT {column} FROM {table} WHERE {where}", place).fetchone()  # noqa: S608 - our names
            if row is not None:
                same_row(row[0], text, what)
                return
            columns = ", ".join((*keys, column))
            db.execute(f"INSERT INTO {table} ({columns}) VALUES (?, ?, ?, ?)", (*place, text))  # noqa: S608 - our names

        await self._db.write(work)


def _known_run(db: sqlite3.Connection, run_id: str | int) -> None:
    if db.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone() is None:
        raise JournalError(f"run {run_id} is not in the journal")


def _refuse_second(db: sqlite3.Connection, sql: str, key: str, what: str) -> None:
    if db.execute(sql, (key,)).fetchone() is not None:
        raise JournalError(f"{what} is in the journal already")
