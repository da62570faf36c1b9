"""What one task came to under one skill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daemon.journal.records import AttemptRecord
from daemon.tasks.task import Task
from sandboxes.gateway.policy import Usage


@dataclass(frozen=True)
class TaskResult:
    """A task with the attempt that counts for it: the scored one, or the last invalid one."""

    task: Task
    record: AttemptRecord
    reused: bool
    """Read back from the journal: nothing was paid for it now."""

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.task.id

    @property
    def valid(self) -> bool:
        """There is a score. An invalid result is no number at all."""
        return self.record.score is not None

    @property
    def solved(self) -> bool:
        """Valid and solved."""
        return self.valid and bool(self.record.hard)

    @property
    def score(self) -> float:
        """The soft score, 0..1; raises `ValueError` on an invalid result."""
        if self.record.score is None:
            msg = f"the attempt on {self.task_id} is invalid ({self.record.outcome}): it has no score"
            raise ValueError(msg)
        return self.record.score


def usage_of(record: AttemptRecord) -> Usage:
    """The record's tokens and money."""
    return Usage(**record.usage)


def paid(results: Iterable[TaskResult]) -> Usage:
    """What these results cost now: those read back cost nothing."""
    return sum((usage_of(result.record) for result in results if not result.reused), Usage())
