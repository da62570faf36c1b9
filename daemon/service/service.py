"""The daemon process: opened in order, working until it is told to stop, closed in reverse.

Start: configuration, store, what a dead process left, desk and sockets, watchers, work. Stop: nothing begins any more,
running attempts get the grace period, then they are stopped and stay retryable. Invariants: a side task that dies stops
the daemon, for its supervisor to start it anew: half a daemon would look like a whole one; but none dies of a disk that
cannot be written, for that is a trouble, and what was not noted is looked at again.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import structlog

from daemon.config import ConfigError
from daemon.control.announcing import announce, withdraw
from daemon.control.server import serve_control
from daemon.jobs.hours import last_due
from daemon.jobs.job import ENDED, Cause
from daemon.jobs.sqlite import FILE, SqliteStore
from daemon.journal.journal import JournalError
from daemon.journal.lock import state_lock
from daemon.notices.fetcher import Fetcher
from daemon.notices.watcher import Watcher
from daemon.places import state_folder
from daemon.service.board import Board
from daemon.service.circuits import Circuits
from daemon.service.day import SharedDay
from daemon.service.front import FrontDesk
from daemon.service.grip import Grip
from daemon.service.looker import Looker
from daemon.service.notify import Supervisor
from daemon.service.project import Project
from daemon.service.projects import Projects
from daemon.service.recovering import Recovering
from daemon.service.runner import Runner
from daemon.service.signals import Signals
from daemon.service.tending import Tending
from daemon.service.told_store import ToldStore
from daemon.service.troubles import Troubles
from daemon.service.worker import Worker
from daemon.telling.events import Bus
from daemon.telling.observing import job_observer
from daemon.telling.telling import Telling

log = structlog.get_logger(__name__)

_BEAT_S = 2.0
_GRIP_S = 3.0
_LOCK = "daemon"
_SIGNPOST = "signpost"
_NAMES = ":names"
_SCHEDULE = ":schedule"
"""Where the store keeps until when cron lines were looked at; no project has such a name."""


class Service:
    """One daemon. `run` ends when it was told to stop."""

    def __init__(self, projects: Projects, supervisor: Supervisor | None = None) -> None:
        self.projects = projects
        self.state = state_folder(projects.main)
        self.signals = Signals()
        self.supervisor = supervisor or Supervisor.of(os.environ)
        self.bus = Bus()
        self.troubles = Troubles(self.bus)
        self.circuits = Circuits()
        self.away = ""
        """Why the state folder cannot be worked in; empty if it can."""

    async def run(self) -> None:
        """Work; raises what stopped it, if it was not told to."""
        async with AsyncExitStack() as stack:
            stack.enter_context(self.signals.heard())  # from the first moment to the last
            stack.enter_context(state_lock(self.state, _LOCK))
            self.grip = Grip.of(self.state / f"{_LOCK}.lock")
            self.store = ToldStore(SqliteStore(self.state / FILE), self.troubles)
            stack.push_async_callback(self.store.close)
            await asyncio.to_thread(self.projects.remember, await self.store.seen(_NAMES) or {})
            self.grip = self.grip.with_store(self.state / FILE)
            await self.store.note(_NAMES, self.projects.names)
            board = Board()
            day = SharedDay(lambda: self.projects.main.daemon.day, self.projects.all)
            runner = Runner(self.bus, board, self.circuits, self._observers, day, over=self.troubles.end_all)
            self.looker = Looker(self.store, self.bus, self.troubles)
            self.worker = Worker(
                self.projects, self.store, runner, board, self.bus, self.circuits, self.troubles, self._look_after
            )
            self.looker.wake = self.worker.wake
            self.tending = Tending(self.projects, self.store, self.looker, self.bus, self.troubles, self.worker.wake)
            self.tending.alone = runner.alone
            self.recovering = Recovering(self.bus, runner.alone)
            self.worker.blocked = lambda: self.away or self.tending.full
            self.worker.uses = self.tending.uses
            self.desk = FrontDesk(
                self.worker, self.store, self.bus, self.troubles, self._reload, lambda: self.looker.looks
            )
            await self.worker.recover()
            await self._try_failed_again()
            telling = await stack.enter_async_context(
                Telling.open(self.desk, self.bus, self.projects.main, self.troubles)
            )
            runner.heard = telling.heard
            self.socket = await stack.enter_async_context(serve_control(self.desk, self.state))
            stack.callback(self._withdraw)
            self._announce()
            section = self.projects.main.daemon
            self.watcher = await stack.enter_async_context(
                Watcher(self.projects.all(), debounce_s=section.debounce_s, poll_s=section.poll_s)
            )
            await self._work()

    async def _work(self) -> None:
        self.desk.state = "working"
        names = ", ".join(one.name for one in self.projects.all())
        self.bus.publish("daemon", f"started, keeps {names}", state="working")
        log.info("daemon started", projects=names, socket=str(self.socket), pid=os.getpid())
        self.supervisor.ready(f"keeps {names}")
        try:
            async with asyncio.TaskGroup() as group:
                side = [group.create_task(one) for one in self._side_tasks()]
                await self.worker.work()
                for task in side:
                    task.cancel()
        finally:
            self.desk.state = "stopped"
            self.worker.draining = self.worker.draining or "the daemon stops"
            await self.worker.stop_hard()
            self.bus.publish("daemon", "stopped", state="stopped")
            log.info("daemon stopped")

    def _side_tasks(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self.recovering.all(self.projects.all()),
            self._watch(),
            self._fetch(),
            self._clock(),
            self._beats(),
            self._hold(),
            self._drain(),
            self._reloads(),
            self.tending.disk(),
            self.tending.inbox(),
            self.tending.house(),
        ]

    async def _watch(self) -> None:
        """Look at everything once, then at what changes."""
        await self._look(self.projects.all())
        async for names in self.watcher.changes():
            await self._look([one for one in self.projects.all() if one.name in names])
            for name in names & self.troubles.of("repository"):
                await self._try_now(name)

    async def _try_now(self, project: str) -> None:
        try:
            await self.worker.try_now(project)
        except JournalError as error:  # then its jobs wait out their time
            log.warning("jobs are not brought forward", project=project, error=str(error))

    async def _look(self, projects: tuple[Project, ...] | list[Project]) -> None:
        """Read the files, then look; where the store cannot be written, the next look or the poll does it again."""
        try:
            await self._reread_files()
            for project in projects:
                found = self.projects.named(project.name)
                if found is not None:
                    seen = await self.looker.look(found)
                    self.watcher.note(found.name, seen)
        except JournalError as error:
            log.warning("a look cannot be noted", error=str(error))
        if self.watcher.blind:
            self.troubles.begin("watching", self.watcher.blind, remedy="raise what it names; until then the poll looks")
        else:
            self.troubles.end("watching")
        self.worker.wake()

    async def _look_after(self, project: Project) -> None:
        """Once a run has ended: what it changed itself is noted, and what others did meanwhile is a cause."""
        await self._look([project])

    async def _reread_files(self) -> None:
        """Take over what changed in the honed.toml files; what cannot be used is said, and the last good one stays."""
        before = self.projects.all()
        faults = await asyncio.to_thread(self.projects.reload)
        if self.projects.all() != before:
            self.watcher.set_projects(self.projects.all())
            await self.store.note(_NAMES, self.projects.names)
            self._announce()
            self.bus.publish("config", "took over a changed configuration")
        self.troubles.keep({one.name for one in self.projects.all()})
        if faults:
            what = "; ".join(faults)
            self.troubles.begin("config", what, remedy="correct the file; until then the last good one counts")
        else:
            self.troubles.end("config")

    async def _fetch(self) -> None:
        """Ask the remotes now and then, if the configuration says so."""
        fetcher = Fetcher()
        while True:
            every = self.projects.main.daemon.fetch_s
            await asyncio.sleep(every or 60.0)
            for project in self.projects.all() if every else ():
                wrong = await fetcher.fetch(project)
                if wrong:
                    self.troubles.begin("remote", wrong, project=project.name)
                else:
                    self.troubles.end("remote", project=project.name)
                    self.watcher.wake(project.name)

    async def _clock(self) -> None:
        """Queue what the cron lines ask for; what cannot be written is asked for again, and lost to no restart."""
        while True:
            try:
                await self._due(time.time())
            except JournalError as error:
                log.warning("the schedule cannot be noted", error=str(error))
            await asyncio.sleep(30.0)

    async def _due(self, now: float) -> None:
        lines = self.projects.main.daemon.schedule
        noted = await self.store.seen(_SCHEDULE)
        since = now if noted is None else float(noted["until"])
        due = last_due(lines, since, now) if lines else None
        if due is not None:
            for project in self.projects.all():
                await self.looker.queue(project.name, Cause("schedule", f"{due:.0f}"))
        await self.store.note(_SCHEDULE, {"until": now})

    async def _beats(self) -> None:
        """Show that the loop turns."""
        every = _BEAT_S if self.supervisor.watchdog_s is None else min(_BEAT_S, self.supervisor.watchdog_s / 3)
        while True:
            self.desk.beat()
            self.supervisor.alive()
            await asyncio.sleep(every)

    async def _hold(self) -> None:
        """Work only in the state folder that is locked; raises `JournalError` once that is lost."""
        while True:
            try:
                away = await asyncio.to_thread(self.grip.away)
            except OSError as error:
                away = f"{self.state}: {error.strerror}"
            if away != self.away:
                self.away = away
                self.worker.wake()
            if away:
                self.troubles.begin("state folder", away, remedy="put it back, or stop the daemon")
            else:
                self.troubles.end("state folder")
            await asyncio.sleep(_GRIP_S)

    async def _drain(self) -> None:
        """Once told to stop: no new attempts, grace for those that run, then an end."""
        await self.signals.drain.wait()
        grace = self.projects.main.daemon.grace_s
        self.desk.state = "draining"
        self.worker.draining = "the daemon stops"
        self.worker.pull("drain", "the daemon stopped; the job goes on when it starts again")
        self.supervisor.stopping("draining", grace)
        self.bus.publish("daemon", f"draining, at most {grace:g} s", state="draining")
        log.info("daemon drains", grace_s=grace, running=len(self.worker.running))
        self.worker.wake()
        try:
            await asyncio.wait_for(self.signals.stop.wait(), grace)
        except TimeoutError:
            log.warning("grace period is over: attempts are stopped and tried again later")
        await self.worker.stop_hard()
        self.worker.wake()

    async def _reloads(self) -> None:
        while True:
            await self.signals.reload.wait()
            self.signals.reload.clear()
            await self._reload()

    async def _reload(self) -> None:
        """SIGHUP, `honed reload`: files anew, watchers anew, everything looked at."""
        self.supervisor.reloading()
        await self._look(self.projects.all())
        self.bus.publish("daemon", "read its configuration again", state="working")
        self.supervisor.ready("working")

    async def _try_failed_again(self) -> None:
        """What a person had to mend may be mended: the newest job of a project is tried again once after a start."""
        jobs = [job for job in await self.store.jobs() if job.state in ENDED and job.state != "joined"]
        newest = {job.project: job for job in jobs}
        for project in self.projects.all():
            job = newest.get(project.name)
            if job is not None and job.state == "failed":
                await self.looker.queue(
                    project.name,
                    Cause("restart", f"job {job.number}", f"the daemon started again, and job {job.number} had failed"),
                )

    def _observers(self, project: str, job: int) -> tuple[Any, ...]:
        return (job_observer(self.bus, project, job),)

    def _announce(self) -> None:
        """Where a folder cannot be written, verbs do not find the daemon from there; the others go on."""
        for project in self.projects.all():
            try:
                announce(project, self.socket, boot=self.desk.boot)
            except OSError as error:
                place = error.filename2 or error.filename or project.state
                what = f"{place}: {error.strerror}: verbs do not find the daemon from this project"
                self.troubles.begin(_SIGNPOST, what, project=project.name, remedy="make it writable, or remove it")
            else:
                self.troubles.end(_SIGNPOST, project=project.name)

    def _withdraw(self) -> None:
        for project in self.projects.all():
            try:
                withdraw(project)
            except OSError as error:  # it is no sign of life: whoever reads it finds that nobody listens
                log.warning("signpost_stays", project=project.name, error=str(error))


async def serve(file: Path) -> None:
    """Run a daemon for a honed.toml until it is told to stop; raises `ConfigError` if it cannot start."""
    projects = await asyncio.to_thread(Projects.load, file)
    if not projects.kept:
        raise ConfigError(f"{file}: there is nothing to keep")
    await Service(projects).run()
