"""Looks at projects: what stands now against what was noted last; each difference becomes a job.

Invariant: a cause is queued before what was seen is noted, so a kill between the two loses nothing, and queues nothing
twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import structlog

from daemon.jobs.job import Cause
from daemon.jobs.store import JobStore
from daemon.jobs.words import cause_in_words
from daemon.notices.differences import differences
from daemon.notices.look import look
from daemon.notices.seen import Seen
from daemon.service.project import Project
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus

log = structlog.get_logger(__name__)


@dataclass
class Looker:
    """One object a daemon; looks at one project come one after the other."""

    store: JobStore
    bus: Bus
    troubles: Troubles
    wake: Callable[[], None] = lambda: None
    """Something was queued."""
    clock: Callable[[], float] = time.time
    looks: int = 0
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def look(self, project: Project) -> Seen:
        """Compare, queue, note; raises `JournalError` where the store cannot be written."""
        async with self._locks.setdefault(project.name, asyncio.Lock()):
            self.looks += 1
            noted = await self.store.seen(project.name)
            before = None if noted is None else Seen.from_data(noted["seen"])
            count = 0 if noted is None else int(noted["count"])
            seen = await look(project, before)
            for cause in differences(before, seen):
                # What goes back and comes again is another cause; what is seen twice around a kill is the same one.
                await self.queue(project.name, replace(cause, key=f"{count}:{cause.key}"))
            if before != seen:
                await self.store.note(project.name, {"count": count + 1, "seen": seen.to_data()})
            # A honed.toml that cannot be used is told by whoever reads them all.
            wrong = [said for area, said in seen.wrong.items() if area != "config"]
            if wrong:
                what = "; ".join(wrong)
                self.troubles.begin("project", what, project=project.name, remedy="mend what it names")
            else:
                self.troubles.end("project", project=project.name)
            return seen

    async def queue(self, project: str, cause: Cause) -> bool:
        """Queue a job for a cause; false if there is one already."""
        job = await self.store.add(project, cause, self.clock())
        if job is None:
            return False
        said = cause_in_words(cause)
        log.info("noticed", project=project, cause=cause.kind, detail=cause.detail, job=job.number)
        self.bus.publish("noticed", said, project=project, job=job.number, cause=cause.kind, key=cause.key)
        plain_key = cause.key.partition(":")[2]
        if cause.kind == "taken-back" or plain_key.startswith("closed "):
            commits = [plain_key] if cause.kind == "taken-back" else []
            facts = {"key": plain_key, "commits": commits, "reason": said}
            self.bus.publish("rejected-by-person", said, project=project, job=job.number, **facts)
        self.wake()
        return True
