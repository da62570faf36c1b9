"""A `JobStore` that tells when it cannot be written, and when it can again: the one place where that trouble is kept.

Invariant: only a write that succeeded ends the trouble, for a disk that is full can be read all the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from daemon.jobs.job import Cause, Job
from daemon.jobs.store import JobStore, Pause
from daemon.journal.journal import JournalError
from daemon.service.troubles import Troubles

T = TypeVar("T")
NAME = "job store"
_REMEDY = "free some space, or make the folder writable"


@dataclass(frozen=True)
class ToldStore:
    """Another store's rows; every method as the seam says."""

    store: JobStore
    troubles: Troubles

    async def add(self, project: str, cause: Cause, now: float) -> Job | None:
        """As the seam says."""
        return await self._written(self.store.add(project, cause, now))

    async def save(self, job: Job) -> None:
        """As the seam says."""
        await self._written(self.store.save(job))

    async def job(self, number: int) -> Job | None:
        """As the seam says."""
        return await self._told(self.store.job(number))

    async def jobs(self, *, open_only: bool = False, newest: int | None = None) -> tuple[Job, ...]:
        """As the seam says."""
        return await self._told(self.store.jobs(open_only=open_only, newest=newest))

    async def accepted(self) -> Mapping[str, int]:
        """As the seam says."""
        return await self._told(self.store.accepted())

    async def prune(self, keep: int) -> int:
        """As the seam says."""
        return await self._written(self.store.prune(keep))

    async def seen(self, project: str) -> Mapping[str, Any] | None:
        """As the seam says."""
        return await self._told(self.store.seen(project))

    async def note(self, project: str, seen: Mapping[str, Any]) -> None:
        """As the seam says."""
        await self._written(self.store.note(project, seen))

    async def pauses(self) -> tuple[Pause, ...]:
        """As the seam says."""
        return await self._told(self.store.pauses())

    async def pause(self, pause: Pause) -> None:
        """As the seam says."""
        await self._written(self.store.pause(pause))

    async def resume(self, project: str) -> None:
        """As the seam says."""
        await self._written(self.store.resume(project))

    async def close(self) -> None:
        """Close the file."""
        await self.store.close()

    async def _told(self, asked: Awaitable[T]) -> T:
        try:
            return await asked
        except JournalError as error:
            self.troubles.begin(NAME, str(error), remedy=_REMEDY)
            raise

    async def _written(self, asked: Awaitable[T]) -> T:
        done = await self._told(asked)
        self.troubles.end(NAME)
        return done
