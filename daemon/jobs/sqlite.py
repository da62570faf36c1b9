"""The real `JobStore`: one SQLite file beside the daemon's journal."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.jobs.job import Cause, Job
from daemon.jobs.store import Pause
from daemon.journal.database import Database
from daemon.journal.schema import Schema

FILE = "daemon.sqlite"

_FIRST = """
CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  project TEXT NOT NULL,
  cause TEXT NOT NULL,
  cause_key TEXT NOT NULL,
  detail TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled', 'joined')),
  created REAL NOT NULL,
  not_before REAL NOT NULL,
  started REAL,
  ended REAL,
  run_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  tries INTEGER NOT NULL CHECK (tries >= 0),
  accepted INTEGER CHECK (accepted >= 0),
  score REAL CHECK (score BETWEEN 0.0 AND 1.0),
  tasks INTEGER NOT NULL CHECK (tasks >= 0),
  UNIQUE (project, cause, cause_key),
  CHECK ((ended IS NOT NULL) = (state NOT IN ('queued', 'running')))
) STRICT;
CREATE INDEX jobs_open ON jobs (number) WHERE state IN ('queued', 'running');

CREATE TABLE seen (
  project TEXT PRIMARY KEY,
  payload TEXT NOT NULL CHECK (json_valid(payload))
) STRICT;

CREATE TABLE pauses (
  project TEXT PRIMARY KEY,
  since REAL NOT NULL,
  reason TEXT NOT NULL
) STRICT;
"""

_SECOND = "ALTER TABLE jobs ADD COLUMN chosen TEXT NOT NULL DEFAULT ''"

JOBS = Schema("job store", 0x686F6E64, (_FIRST, _SECOND), "honed daemon")
"""`hond` in ASCII."""

_COLUMNS = (
    "number, project, cause, cause_key, detail, state, created, not_before, started, ended, run_id, reason, tries, "
    "accepted, score, tasks, chosen"
)


class SqliteStore:
    """A `JobStore` in a file; `read_only` for verbs that look while no daemon runs."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._database = Database(path, read_only=read_only, schema=JOBS)

    async def add(self, project: str, cause: Cause, now: float) -> Job | None:
        """As the seam says."""

        def work(connection: sqlite3.Connection) -> Job | None:
            mark = (project, cause.kind, cause.key)
            where = "SELECT 1 FROM jobs WHERE project = ? AND cause = ? AND cause_key = ?"
            if connection.execute(where, mark).fetchone():
                return None
            cursor = connection.execute(
                "INSERT INTO jobs (project, cause, cause_key, detail, state, created, not_before, run_id, reason, "
                "tries, tasks) VALUES (?, ?, ?, ?, 'queued', ?, 0, '', '', 0, 0)",
                (*mark, cause.detail, now),
            )
            return Job(int(cursor.lastrowid or 0), project, cause, "queued", now)

        return await self._database.write(work)

    async def save(self, job: Job) -> None:
        """As the seam says."""
        values = (
            *(job.state, job.not_before, job.started, job.ended, job.run_id, job.reason, job.tries),
            *(job.accepted, job.score, job.tasks, job.chosen, job.number),
        )
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE jobs SET state = ?, not_before = ?, started = ?, ended = ?, run_id = ?, reason = ?, tries = ?, "
                "accepted = ?, score = ?, tasks = ?, chosen = ? WHERE number = ?",
                values,
            )
        )

    async def job(self, number: int) -> Job | None:
        """As the seam says."""
        found = await self._jobs("WHERE number = ?", (number,))
        return found[0] if found else None

    async def jobs(self, *, open_only: bool = False, newest: int | None = None) -> tuple[Job, ...]:
        """As the seam says."""
        where = "WHERE state IN ('queued', 'running')" if open_only else ""
        found = await self._jobs(f"{where} ORDER BY number DESC LIMIT ?", (-1 if newest is None else newest,))
        return found[::-1]

    async def _jobs(self, rest: str, values: tuple[Any, ...]) -> tuple[Job, ...]:
        rows = await self._database.read(
            lambda connection: connection.execute(f"SELECT {_COLUMNS} FROM jobs {rest}", values).fetchall()  # noqa: S608 - our own text
        )
        return tuple(Job(row[0], row[1], Cause(*row[2:5]), *row[5:]) for row in rows)

    async def accepted(self) -> Mapping[str, int]:
        """As the seam says."""
        sql = "SELECT project, sum(accepted) FROM jobs WHERE accepted > 0 GROUP BY project"
        return dict(await self._database.read(lambda connection: connection.execute(sql).fetchall()))

    async def prune(self, keep: int) -> int:
        """As the seam says."""
        sql = (
            "DELETE FROM jobs WHERE ended IS NOT NULL AND coalesce(accepted, 0) = 0 AND number <= "
            "(SELECT number FROM jobs ORDER BY number DESC LIMIT 1 OFFSET ?)"
        )
        return await self._database.write(lambda connection: connection.execute(sql, (keep,)).rowcount)

    async def seen(self, project: str) -> Mapping[str, Any] | None:
        """As the seam says."""
        row = await self._database.read(
            lambda connection: connection.execute("SELECT payload FROM seen WHERE project = ?", (project,)).fetchone()
        )
        found: Mapping[str, Any] | None = json.loads(row[0]) if row else None
        return found

    async def note(self, project: str, seen: Mapping[str, Any]) -> None:
        """As the seam says."""
        text = json.dumps(dict(seen), sort_keys=True)
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO seen VALUES (?, ?) ON CONFLICT DO UPDATE SET payload = excluded.payload", (project, text)
            )
        )

    async def pauses(self) -> tuple[Pause, ...]:
        """As the seam says."""
        rows = await self._database.read(
            lambda connection: connection.execute("SELECT project, since, reason FROM pauses ORDER BY 1").fetchall()
        )
        return tuple(Pause(*row) for row in rows)

    async def pause(self, pause: Pause) -> None:
        """As the seam says."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT INTO pauses VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET since = excluded.since, "
                "reason = excluded.reason",
                (pause.project, pause.since, pause.reason),
            )
        )

    async def resume(self, project: str) -> None:
        """As the seam says."""
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM pauses WHERE project = ?", (project,))
        )

    async def close(self) -> None:
        """Close the file."""
        await self._database.close()
