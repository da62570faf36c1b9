"""What the daemon does beside its jobs: the disk's level, people's sessions, an hourly tidying up.

Invariants: nothing here stops work but a full disk; a fault of one project is told and stops no other's.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from daemon.housekeeping.disk import DiskLevel, look_at_disk
from daemon.housekeeping.house import Report, keep_house
from daemon.inbox.opening import read_use, take_in
from daemon.inbox.use import Use
from daemon.jobs.job import Cause
from daemon.jobs.store import JobStore
from daemon.journal.journal import JournalError
from daemon.journal.lock import StateBusyError, state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.places import may_be_there
from daemon.service.looker import Looker
from daemon.service.project import Project
from daemon.service.projects import Projects
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus
from sandboxes.sandbox import MIB

log = structlog.get_logger(__name__)

_DISK_S, _INBOX_S, _HOUSE_S = 15.0, 60.0, 3600.0
_JOBS = 10_000
"""Jobs that the daemon remembers, and all that accepted something."""


@dataclass
class Tending:
    """One object a daemon."""

    projects: Projects
    store: JobStore
    looker: Looker
    bus: Bus
    troubles: Troubles
    wake: Callable[[], None]
    clock: Callable[[], float] = time.time
    alone: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """By project: whoever works in its state folder holds it (`Runner.alone`)."""
    full: str = ""
    """Why nothing may begin; empty while there is room."""
    uses: dict[str, Use] = field(default_factory=dict)
    """People's use of each project's skill."""
    _read: dict[str, float] = field(default_factory=dict)
    """When each one's use was read (monotonic)."""

    async def disk(self) -> None:
        """Look at the disks again and again."""
        while True:
            full = ""
            for project in self.projects.all():
                full = full or await self._disk_of(project)
            if full != self.full:
                self.full = full
                self.wake()
            await asyncio.sleep(_DISK_S)

    async def inbox(self) -> None:
        """Take in people's sessions again and again, where the configuration asks for it."""
        while True:
            for project in self.projects.all():
                try:
                    await self._sessions_of(project)
                except JournalError as error:
                    self.troubles.begin("inbox", str(error), project=project.name)
                except OSError as error:
                    what = f"{error.filename or project.state}: {error.strerror or error}"
                    self.troubles.begin("inbox", what, project=project.name)
                else:
                    self.troubles.end("inbox", project=project.name)
            await asyncio.sleep(_INBOX_S)

    async def house(self) -> None:
        """Keep each state folder bounded, once an hour."""
        while True:
            for project in self.projects.all():
                await self._house_of(project)
            await self._prune()
            await asyncio.sleep(_HOUSE_S)

    async def _disk_of(self, project: Project) -> str:
        try:
            disk = await asyncio.to_thread(
                look_at_disk, project.state if project.state.exists() else project.file.parent
            )
        except OSError as error:
            log.warning("disk_not_seen", folder=str(project.state), error=str(error))
            return ""
        free = f"{disk.free // MIB} MiB are free on the disk that holds {project.state}"
        said = {DiskLevel.FULL: "nothing begins until there is more", DiskLevel.LOW: "it will be full soon"}
        for name, level in (("disk", DiskLevel.FULL), ("disk low", DiskLevel.LOW)):
            if disk.level is level:
                what = f"{free}: {said[level]}"
                self.troubles.begin(name, what, project=project.name, remedy="free some space, see `honed clean`")
            else:
                self.troubles.end(name, project=project.name)
        return f"{free}: {said[disk.level]}" if disk.level is DiskLevel.FULL else ""

    async def _sessions_of(self, project: Project) -> None:
        taken = await take_in(project.config)
        now, read = time.monotonic(), self._read.get(project.name)
        # Old sessions are forgotten: once an hour is often enough to see that.
        if read is not None and now - read < _HOUSE_S and not any(one.came in ("new", "grown") for one in taken):
            return
        use = await read_use(project.config)
        self.uses[project.name], self._read[project.name] = use, now
        mark = f":inbox {project.name}"
        noted = await self.store.seen(mark)
        failed = 0 if noted is None else int(noted["failed"])
        if use.failed - failed >= project.config.inbox.harvest_sessions:
            said = f"{use.failed - failed} more sessions with the skill went wrong"
            await self.looker.queue(project.name, Cause("inbox", f"{use.failed} until {use.until}", said))
            await self.store.note(mark, {"failed": use.failed})
        elif use.failed < failed:  # old sessions were forgotten
            await self.store.note(mark, {"failed": use.failed})

    async def _house_of(self, project: Project) -> None:
        if not may_be_there(project.state / "journal.sqlite"):
            return
        lock = self.alone[project.name]
        if lock.locked():  # a run of days must not keep its house from being kept; what it needs is spared
            self._kept(project, await self._keep(project, alone=False))
            return
        async with lock:
            await self._house_alone(project)

    async def _prune(self) -> None:
        """Forget the oldest jobs."""
        try:
            gone = await self.store.prune(_JOBS)
        except JournalError as error:  # the store tells it as a trouble
            log.warning("old jobs stay", error=str(error))
        else:
            if gone:
                log.info("old jobs are forgotten", jobs=gone)

    async def _house_alone(self, project: Project) -> None:
        try:
            with state_lock(project.state):
                report = await self._keep(project, alone=True)
        except StateBusyError:  # another process works here
            report = await self._keep(project, alone=False)
        except JournalError as error:  # the folder cannot be written
            self.troubles.begin("house", str(error), project=project.name)
            return
        self._kept(project, report)

    def _kept(self, project: Project, report: Report | None) -> None:
        """Tell what came of it."""
        if report is None:
            return
        if report.problems:
            self.troubles.begin("house", "; ".join(report.problems), project=project.name)
        else:
            self.troubles.end("house", project=project.name)
        if not report.nothing:
            freed = report.attempts_before - report.attempts_after + report.journal_freed
            self.bus.publish("house", f"tidied up: {freed // MIB} MiB freed", project=project.name, freed=freed)

    async def _keep(self, project: Project, *, alone: bool) -> Report | None:
        """None: it could not be done, and that is told."""
        journal = SqliteJournal(project.state / "journal.sqlite")
        try:
            return await keep_house(project.state, project.config.retention, self.clock(), journal=journal, alone=alone)
        except (JournalError, OSError) as error:
            self.troubles.begin("house", str(error), project=project.name)
            return None
        finally:
            await journal.close()
