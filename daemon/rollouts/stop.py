"""When to stop a run: a failure that no retry mends, or a provider that answers nobody.

The breaker keeps a dead provider from being asked task by task. It never decides a score, only that there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from daemon.journal.records import AttemptRecord
from harnesses.outcome import POLICIES, Outcome

_SHARED = frozenset(
    {
        Outcome.RATE_LIMIT,
        Outcome.OVERLOADED,
        Outcome.SERVER_ERROR,
        Outcome.UNREACHABLE,
        Outcome.CUT_STREAM,
        Outcome.SANDBOX_START,
        Outcome.SANDBOX_LOST,
        Outcome.CLI_CRASHED,
        Outcome.CLI_HUNG,
        Outcome.CLI_PROTOCOL,
    }
)
"""Failures whose cause is shared by all attempts, so that the next task would meet it too."""


class RunStopped(Exception):  # noqa: N818 - it is a decision, said in one line, not a defect
    """The run cannot go on. `str()` is one line: who failed, how, and what to do.

    `outcome` names the failure where an attempt's ended it: what a circuit takes note of.
    """

    def __init__(self, line: str, outcome: Outcome | None = None) -> None:
        super().__init__(line)
        self.outcome = outcome


class DiskFull(RunStopped):
    """No attempt can be made until there is room on the disk."""


def stopped(record: AttemptRecord, settings: Mapping[str, str], *, tries: int = 1) -> RunStopped:
    """The line for an attempt that ended the run."""
    who = "/".join(settings[key] for key in ("provider", "model") if settings.get(key))
    head = f"{who}: {record.outcome}" if who else record.outcome
    often = f" ({tries} tries)" if tries > 1 else ""
    parts = [f"{head} on task {record.task_id}{often}", record.detail, POLICIES[Outcome(record.outcome)].remedy]
    line = ": ".join(" ".join(part.split()) for part in parts if part)
    return RunStopped(line, Outcome(record.outcome))


def disk_full(record: AttemptRecord, folder: Path) -> DiskFull:
    """The line for an attempt that failed on a full disk, whatever its outcome: all others would fail there too."""
    return DiskFull(
        f"the disk that holds {folder} is full: free some space, then the same command goes on "
        f"(task {record.task_id}: {record.outcome})"
    )


class Breaker:
    """Counts attempts that failed for a shared cause with nothing valid between them."""

    def __init__(self, limit: int = 3) -> None:
        self._limit = limit
        self._in_a_row = 0
        self._seen_valid = False

    def note(self, record: AttemptRecord) -> bool:
        """Take a final result (after its retries); True: stop the run.

        Before anything has ever worked one such failure is enough: the set-up is at fault, not the moment.
        """
        if record.score is not None:
            self._seen_valid = True
            self._in_a_row = 0
            return False
        if Outcome(record.outcome) not in _SHARED:
            return False
        self._in_a_row += 1
        return self._in_a_row >= (self._limit if self._seen_valid else 1)
