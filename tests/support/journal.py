"""Rows for journal tests."""

from __future__ import annotations

from typing import Any

from daemon.journal.records import AttemptKey, AttemptRecord, RunRecord


def a_run(run_id: str = "r-1", *, skill: str = "xlsx", fingerprint: str = "f-1", started: float = 1.5) -> RunRecord:
    """An open run."""
    return RunRecord(run_id, fingerprint, skill, "c" * 40, "open", started)


def a_key(task: str = "t-1", trial: int = 0) -> AttemptKey:
    """A key by task and trial."""
    return AttemptKey("sha256:s", f"sha256:{task}", "codex", {"model": "m", "version": "1"}, trial)


def a_record(attempt_id: str, key: AttemptKey | None = None, **changes: Any) -> AttemptRecord:
    """A scored attempt of task `t-1`."""
    values: dict[str, Any] = {
        "attempt_id": attempt_id,
        "key": (key or a_key()).digest,
        "task_id": "t-1",
        "outcome": "completed",
        "detail": "",
        "score": 0.25,
        "hard": False,
        "feedback": "two cells differ",
        "summary": "ran a script\nüñí",
        "final_answer": "done",
        "skill_listed": True,
        "skill_opened": False,
        "usage": {"input_tokens": 10, "usd": 0.1},
        "wall_s": 1.0625,
        "versions": {"codex": "0.171.0"},
        "engine": {"engine": "fake", "lacks": []},
        "score_detail": {"gold": [1, 2]},
    }
    return AttemptRecord(**{**values, **changes})


def an_invalid(attempt_id: str, key: AttemptKey | None = None) -> AttemptRecord:
    """An attempt that failed by our fault."""
    return a_record(attempt_id, key, score=None, hard=None, outcome="rate_limit")
