"""What is read from the real journal: the part that a second process may do while a run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from daemon.journal.database import Database
from daemon.journal.records import (
    AttemptKey,
    AttemptRecord,
    AttemptRow,
    Decision,
    ReplyRecord,
    RunRecord,
    Span,
    Spent,
)
from daemon.journal.rows import decode_record, key_from

_RUN = "SELECT run_id, fingerprint, skill, base_commit, state, started FROM runs"
_ATTEMPT_TIME = "coalesce(finished_at, planned_at)"
_ATTEMPTS_SPENT = f"""
SELECT json_extract(key_parts, '$.harness'), json_extract(key_parts, '$.settings.model'),
       json_extract(record, '$.usage'), json_extract(record, '$.wall_s'), score IS NOT NULL
FROM attempts WHERE (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR {_ATTEMPT_TIME} >= ?2)
ORDER BY seq DESC LIMIT ?3
"""  # noqa: S608 - our own names
_REPLIES_SPENT = """
SELECT json_extract(reply, '$.model'), json_extract(reply, '$.usage')
FROM replies WHERE (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR saved_at >= ?2)
ORDER BY seq DESC LIMIT ?3
"""


class SqliteReader:
    """The reading half of `SqliteJournal`."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float) -> None:
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

    async def find_scored(self, key: AttemptKey) -> AttemptRecord | None:
        """The valid result of equal content that was finished first. Invalid attempts are never found."""
        sql = "SELECT record FROM attempts WHERE key = ? AND score IS NOT NULL ORDER BY finished_seq LIMIT 1"
        row = await self._one(sql, key.digest)
        return None if row is None else decode_record(row[0])

    async def attempts(self, run_id: str) -> tuple[AttemptRecord, ...]:
        """Every finished attempt planned under a run, in order of planning."""
        sql = "SELECT record FROM attempts WHERE run_id = ? AND state = 'finished' ORDER BY seq"
        return tuple(decode_record(row[0]) for row in await self._all(sql, run_id))

    async def attempt_rows(
        self, *, run_id: str | None = None, skill_digest: str | None = None
    ) -> tuple[AttemptRow, ...]:
        """Finished attempts with their keys, in order of finishing: of a run, under a skill, or both."""
        sql = (
            "SELECT run_id, key_parts, record, planned_at FROM attempts WHERE state = 'finished'"
            " AND (?1 IS NULL OR run_id = ?1)"
            " AND (?2 IS NULL OR json_extract(key_parts, '$.skill_digest') = ?2) ORDER BY finished_seq"
        )
        rows = await self._all(sql, run_id, skill_digest)
        return tuple(
            AttemptRow(run, key_from(parts), decode_record(record), planned) for run, parts, record, planned in rows
        )

    async def unfinished_attempts(self, *, of_ended_runs: bool = False) -> tuple[str, ...]:
        """Ids planned but not finished, in order of planning."""
        sql = (
            "SELECT attempt_id FROM attempts a JOIN runs r USING (run_id) WHERE a.state = 'planned'"
            " AND (NOT ?1 OR r.state <> 'open') ORDER BY a.seq"
        )
        rows = await self._all(sql, of_ended_runs)
        return tuple(row[0] for row in rows)

    async def find_reply(self, run_id: str, place: str, prompt_digest: str) -> dict[str, Any] | None:
        """The optimizer's reply at a place to exactly this prompt, if it was paid for."""
        sql = "SELECT reply FROM replies WHERE run_id = ? AND place = ? AND prompt_digest = ?"
        row = await self._one(sql, run_id, place, prompt_digest)
        return None if row is None else dict(json.loads(row[0]))

    async def replies(self, run_id: str) -> tuple[ReplyRecord, ...]:
        """Every reply of a run, in order of writing."""
        rows = await self._all("SELECT place, prompt_digest, reply FROM replies WHERE run_id = ? ORDER BY seq", run_id)
        return tuple(ReplyRecord(place, digest, json.loads(reply)) for place, digest, reply in rows)

    async def find_decision(self, run_id: str, step: int, kind: str) -> Decision | None:
        """What was decided, if it was."""
        sql = "SELECT payload FROM decisions WHERE run_id = ? AND step = ? AND kind = ?"
        row = await self._one(sql, run_id, step, kind)
        return None if row is None else Decision(run_id, step, kind, json.loads(row[0]))

    async def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """All decisions of a run by step, within a step in order of writing."""
        rows = await self._all("SELECT step, kind, payload FROM decisions WHERE run_id = ? ORDER BY step, seq", run_id)
        return tuple(Decision(run_id, step, kind, json.loads(payload)) for step, kind, payload in rows)

    async def spent(
        self, *, run_id: str | None = None, since: float | None = None, newest: int | None = None
    ) -> tuple[Spent, ...]:
        """What was paid: attempts, then replies, in order of beginning."""
        which = (run_id, since, -1 if newest is None else newest)
        attempts = [
            Spent("target", harness, model or "", json.loads(usage) if usage else None, wall_s or 0.0, bool(scored))
            for harness, model, usage, wall_s, scored in await self._all(_ATTEMPTS_SPENT, *which)
        ]
        replies = [
            Spent("optimizer", "", model or "", json.loads(usage), 0.0, scored=False)
            for model, usage in await self._all(_REPLIES_SPENT, *which)
        ]
        return (*reversed(attempts), *reversed(replies))

    async def spans(self, *, run_id: str | None = None, since: float | None = None) -> tuple[Span, ...]:
        """Who worked when, in order: on one run or on all; those that ended before a Unix time are left out."""
        sql = (
            "SELECT run_id, started, seen FROM spans"
            " WHERE (?1 IS NULL OR run_id = ?1) AND (?2 IS NULL OR seen >= ?2) ORDER BY seq"
        )
        return tuple(Span(*row) for row in await self._all(sql, run_id, since))

    async def close(self) -> None:
        """Close the file."""
        await self._db.close()

    async def _one(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = await self._db.read(lambda db: db.execute(sql, values).fetchone())
        return row

    async def _all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return await self._db.read(lambda db: db.execute(sql, values).fetchall())
