"""The `JobStore` seam: the queue and what the daemon last saw. The real one is `sqlite.py`, the fake `memory.py`.

Invariant: a row is durable before its caller goes on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from daemon.jobs.job import Cause, Job


@dataclass(frozen=True)
class Pause:
    """Somebody asked that nothing new is begun."""

    project: str
    """Empty: no project at all."""
    since: float
    reason: str = ""


class JobStore(Protocol):
    """Durable memory of one daemon. Every method raises `JournalError`, naming the file and the remedy."""

    async def add(self, project: str, cause: Cause, now: float) -> Job | None:
        """Queue a job; None if there is one of the same cause (kind and key), in whatever state."""

    async def save(self, job: Job) -> None:
        """Write a job's new state; its number, project, cause and time of creation never change."""

    async def job(self, number: int) -> Job | None:
        """One job."""

    async def jobs(self, *, open_only: bool = False, newest: int | None = None) -> tuple[Job, ...]:
        """Jobs in order of creation: all, those that have not ended, or the newest."""

    async def accepted(self) -> Mapping[str, int]:
        """Edits that the jobs of each project accepted, over all of them; without one it is not named."""

    async def prune(self, keep: int) -> int:
        """Forget jobs older than the newest `keep`, but none that is open or accepted something; returns how many.

        Their causes are forgotten with them, their numbers are never given again.
        """

    async def seen(self, project: str) -> Mapping[str, Any] | None:
        """What was last noted of a project, as JSON-able data; None: it is new."""

    async def note(self, project: str, seen: Mapping[str, Any]) -> None:
        """Note what was seen of a project."""

    async def pauses(self) -> tuple[Pause, ...]:
        """What is paused, by project; a pause survives a restart."""

    async def pause(self, pause: Pause) -> None:
        """Pause a project, or all."""

    async def resume(self, project: str) -> None:
        """End a pause; without one, nothing."""

    async def close(self) -> None:
        """Close the file."""
