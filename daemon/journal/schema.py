"""The journal's tables, as migrations.

Invariant: a migration that was ever released is never changed; a new one is appended, and `PRAGMA user_version`
counts those that a file has seen.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schema:
    """What one kind of file of honed's holds."""

    what: str
    """The kind of file in words."""
    application_id: int
    migrations: tuple[str, ...]
    """Script n brings a file from version n to n + 1."""
    made_by: str
    """The command that makes or renews such a file."""


APPLICATION_ID = 0x686F6E65
"""`hone` in ASCII: tells a journal from any other SQLite file."""

_FIRST = """
CREATE TABLE runs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL UNIQUE,
  fingerprint TEXT NOT NULL,
  skill TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed')),
  started REAL NOT NULL
) STRICT;
CREATE INDEX runs_by_skill ON runs (skill, fingerprint, state);

CREATE TABLE attempts (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  attempt_id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  task_id TEXT NOT NULL,
  key TEXT NOT NULL,
  key_parts TEXT NOT NULL CHECK (json_valid(key_parts)),
  state TEXT NOT NULL CHECK (state IN ('planned', 'finished', 'abandoned')),
  finished_seq INTEGER UNIQUE,
  outcome TEXT,
  score REAL CHECK (score BETWEEN 0.0 AND 1.0),
  hard INTEGER CHECK (hard IN (0, 1)),
  record TEXT CHECK (record IS NULL OR json_valid(record)),
  CHECK ((state = 'finished') = (finished_seq IS NOT NULL)),
  CHECK ((state = 'finished') = (record IS NOT NULL)),
  CHECK ((state = 'finished') = (outcome IS NOT NULL)),
  CHECK (score IS NULL OR state = 'finished'),
  CHECK ((score IS NULL) = (hard IS NULL))
) STRICT;
CREATE INDEX attempts_by_key ON attempts (key, finished_seq) WHERE score IS NOT NULL;
CREATE INDEX attempts_by_run ON attempts (run_id, seq);
CREATE INDEX attempts_planned ON attempts (seq) WHERE state = 'planned';

CREATE TABLE replies (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  place TEXT NOT NULL,
  prompt_digest TEXT NOT NULL,
  reply TEXT NOT NULL CHECK (json_valid(reply)),
  UNIQUE (run_id, place, prompt_digest)
) STRICT;

CREATE TABLE decisions (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  step INTEGER NOT NULL CHECK (step >= 0),
  kind TEXT NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  UNIQUE (run_id, step, kind)
) STRICT;
"""

_SPENDING = """
ALTER TABLE attempts ADD COLUMN planned_at REAL;
ALTER TABLE attempts ADD COLUMN finished_at REAL;
ALTER TABLE replies ADD COLUMN saved_at REAL;
CREATE INDEX attempts_by_time ON attempts (coalesce(finished_at, planned_at));
CREATE INDEX replies_by_time ON replies (saved_at);

CREATE TABLE spans (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  started REAL NOT NULL,
  seen REAL NOT NULL CHECK (seen >= started)
) STRICT;
CREATE INDEX spans_by_run ON spans (run_id);
"""
"""When things were paid for. Rows of an older honed have no time: they count to no day."""

MIGRATIONS: tuple[str, ...] = (_FIRST, _SPENDING)
"""Script n brings a file from version n to n + 1."""

JOURNAL = Schema("journal", APPLICATION_ID, MIGRATIONS, "honed train")
