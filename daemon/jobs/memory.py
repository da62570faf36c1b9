"""The fake `JobStore`: dictionaries. Durable for as long as the process."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from daemon.jobs.job import ENDED, Cause, Job
from daemon.jobs.store import Pause


class MemoryStore:
    """A `JobStore` in memory."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._newest = 0
        self._causes: set[tuple[str, str, str]] = set()
        self._seen: dict[str, str] = {}
        self._pauses: dict[str, Pause] = {}

    async def add(self, project: str, cause: Cause, now: float) -> Job | None:
        """As the seam says."""
        mark = (project, cause.kind, cause.key)
        if mark in self._causes:
            return None
        self._causes.add(mark)
        self._newest += 1
        job = Job(self._newest, project, cause, "queued", now)
        self._jobs[job.number] = job
        return job

    async def save(self, job: Job) -> None:
        """As the seam says."""
        old = self._jobs[job.number]
        self._jobs[job.number] = replace(job, project=old.project, cause=old.cause, created=old.created)

    async def job(self, number: int) -> Job | None:
        """As the seam says."""
        return self._jobs.get(number)

    async def jobs(self, *, open_only: bool = False, newest: int | None = None) -> tuple[Job, ...]:
        """As the seam says."""
        found = [job for _, job in sorted(self._jobs.items()) if not (open_only and job.state in ENDED)]
        return tuple(found if newest is None else found[max(0, len(found) - newest) :])

    async def accepted(self) -> Mapping[str, int]:
        """As the seam says."""
        found = Counter[str]()
        for job in self._jobs.values():
            found[job.project] += job.accepted or 0
        return +found

    async def prune(self, keep: int) -> int:
        """As the seam says."""
        old = sorted(self._jobs)[: max(0, len(self._jobs) - keep)]
        gone = [number for number in old if self._jobs[number].state in ENDED and not self._jobs[number].accepted]
        for number in gone:
            job = self._jobs.pop(number)
            self._causes.discard((job.project, job.cause.kind, job.cause.key))
        return len(gone)

    async def seen(self, project: str) -> Mapping[str, Any] | None:
        """As the seam says."""
        found: Mapping[str, Any] | None = json.loads(self._seen[project]) if project in self._seen else None
        return found

    async def note(self, project: str, seen: Mapping[str, Any]) -> None:
        """As the seam says."""
        self._seen[project] = json.dumps(dict(seen))

    async def pauses(self) -> tuple[Pause, ...]:
        """As the seam says."""
        return tuple(pause for _, pause in sorted(self._pauses.items()))

    async def pause(self, pause: Pause) -> None:
        """As the seam says."""
        self._pauses[pause.project] = pause

    async def resume(self, project: str) -> None:
        """As the seam says."""
        self._pauses.pop(project, None)

    async def close(self) -> None:
        """Nothing to close."""
