"""The real `Desk`: answers from the worker, the store and the projects' journals, and passes on what people ask for."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from daemon import __version__
from daemon.jobs.job import ENDED, Cause, Job
from daemon.jobs.standing import Seat
from daemon.jobs.store import JobStore, Pause
from daemon.service.desk import CircuitStatus, DaemonState, DeskError, Explanation, ProjectStatus, Status
from daemon.service.project import Project
from daemon.service.spending import SpentToday
from daemon.service.troubles import Troubles
from daemon.service.worker import Worker
from daemon.telling.events import Bus

_STALLED_S = 15.0
"""A loop that has not turned for so long hangs."""
_NOT_READY = frozenset({"engine", "journal", "job store", "disk", "setup"})


@dataclass
class FrontDesk:
    """One object a daemon."""

    worker: Worker
    store: JobStore
    bus: Bus
    troubles: Troubles
    reread: Callable[[], Awaitable[None]]
    """Reads the configuration again."""
    looks: Callable[[], int] = lambda: 0
    """How many looks were made."""
    clock: Callable[[], float] = time.time
    state: DaemonState = "starting"
    boot: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    started: float = field(default_factory=time.time)
    _beat: float = field(default_factory=time.monotonic)
    _spent: SpentToday = field(default_factory=SpentToday)

    @property
    def events(self) -> Bus:
        """As `Desk.events`."""
        return self.bus

    def beat(self) -> None:
        """The loop has turned."""
        self._beat = time.monotonic()

    def alive(self) -> bool:
        """As `Desk.alive`."""
        return time.monotonic() - self._beat < _STALLED_S

    def ready(self) -> str:
        """As `Desk.ready`."""
        if self.state != "working":
            return f"the daemon is {self.state}"
        stands = [one for one in self.troubles.all() if one.name in _NOT_READY]
        return "; ".join(f"{one.name}: {one.what}" for one in stands)

    async def status(self) -> Status:
        """As `Desk.status`."""
        choice = await self.worker.choice()
        jobs = await self.worker.jobs()
        seats = {seat.project: seat for seat in choice.seats}
        pauses = {pause.project: pause.reason or "paused" for pause in await self.store.pauses()}
        day = self.worker.projects.main.daemon.day
        accepted = await self.store.accepted()
        projects = [
            await self._project(
                one,
                seats[one.name],
                tuple(job for job in jobs if job.project == one.name),
                accepted.get(one.name, 0),
            )
            for one in self.worker.projects.all()
            if one.name in seats  # one that came only now is in the next answer
        ]
        return Status(
            state=self.state,
            version=__version__,
            pid=os.getpid(),
            boot=self.boot,
            started=self.started,
            now=self.clock(),
            engine=self.worker.runner.engine,
            paused=pauses.get("", ""),
            projects=tuple(projects),
            troubles=self.troubles.all(),
            events=self.bus.newest,
            looks=self.looks(),
            circuits=tuple(CircuitStatus(one.name, one.state.phase, one.reason) for one in self.worker.circuits.all()),
            cap_today_usd=day.usd,
            cap_today_attempts=day.attempts,
        )

    async def explain(self, number: int) -> Explanation:
        """As `Desk.explain`."""
        job = await self._job(number)
        choice = await self.worker.choice()
        seat = next((seat for seat in choice.seats if seat.project == job.project), None)
        why = job.reason if job.state != "queued" or seat is None else f"{seat.state}: {seat.why}"
        if choice.job is not None and choice.job.number == number:
            why = choice.why
        return Explanation(job, why, choice.weighed)

    async def jobs(self, newest: int) -> tuple[Job, ...]:
        """As `Desk.jobs`."""
        return await self.store.jobs(newest=newest)

    async def train(self, file: str) -> Job:
        """As `Desk.train`."""
        project = await asyncio.to_thread(self.worker.projects.of_file, Path(file))
        if project is None:
            raise DeskError(f"{file}: this daemon does not keep it (add it to [daemon] also, then `honed reload`)")
        if project.wrong:
            raise DeskError(project.wrong)
        job = await self.store.add(project.name, Cause("asked", uuid.uuid4().hex), self.clock())
        assert job is not None, "its key is new"
        self._tell_queued(job, "somebody asked for a run")
        return job

    async def pause(self, project: str, reason: str) -> None:
        """As `Desk.pause`."""
        self._known(project)
        await self.store.pause(Pause(project, self.clock(), reason))
        self.worker.pull("pause", f"paused{f': {reason}' if reason else ''}", project)
        self.bus.publish("paused", reason or "somebody paused it", project=project)
        self.worker.wake()

    async def resume(self, project: str) -> None:
        """As `Desk.resume`."""
        self._known(project)
        if project not in {pause.project for pause in await self.store.pauses()}:
            raise DeskError(f"{project or 'the daemon'} is not paused (`honed status` says what is)")
        await self.store.resume(project)
        self.bus.publish("resumed", "goes on", project=project)
        self.worker.wake()

    async def cancel(self, number: int, *, hard: bool) -> Job:
        """As `Desk.cancel`."""
        job = await self._job(number)
        if job.state in ENDED:
            raise DeskError(f"job {number} has ended already: {job.state}")
        running = self.worker.running.get(job.project)
        if running is not None and running.job.number == number:
            running.leash.pull("cancel", "cancelled by a person")
            if hard:
                await self.worker.stop_hard(job.project)
            return await self._job(number)
        done = _ended(job, self.clock(), "cancelled by a person before it began")
        await self.store.save(done)
        self.bus.publish("job", done.reason, project=job.project, job=number, state="cancelled")
        self.worker.wake()
        return done

    async def retry(self, number: int) -> Job:
        """As `Desk.retry`."""
        job = await self._job(number)
        if job.state not in ENDED:
            raise DeskError(f"job {number} has not ended: it is {job.state}")
        self._known(job.project)
        again = await self.store.add(
            job.project, Cause("retry", uuid.uuid4().hex, f"somebody asked for job {number} again"), self.clock()
        )
        assert again is not None, "its key is new"
        self._tell_queued(again, f"job {number} again")
        return again

    async def reload(self) -> None:
        """As `Desk.reload`."""
        await self.reread()

    async def _project(self, project: Project, seat: Seat, jobs: tuple[Job, ...], accepted: int) -> ProjectStatus:
        results = [job for job in jobs if job.score is not None]
        ended = [job for job in jobs if job.state in ENDED and job.state != "joined"]
        spent = await self._spent.of(project.config, self.clock())
        return ProjectStatus(
            name=project.name,
            file=str(project.file),
            skill=project.config.skill.path,
            branch=f"honed/{project.config.skill.path.rsplit('/', 1)[-1]}",
            state=seat.state,
            why=seat.why,
            score=results[-1].score if results else None,
            accepted=accepted,
            queued=tuple(job for job in jobs if job.state == "queued"),
            last=ended[-1] if ended else None,
            progress=self.worker.board.progress(project.name),
            next_at=seat.next_at,
            spent_today_usd=spent.usd,
            attempts_today=spent.attempts,
            cap_today_usd=project.config.budget.day.usd,
            cap_today_attempts=project.config.budget.day.attempts,
        )

    async def _job(self, number: int) -> Job:
        job = await self.store.job(number)
        if job is None:
            raise DeskError(f"there is no job {number} (`honed jobs` lists them)")
        return job

    def _known(self, project: str) -> None:
        if project and self.worker.projects.named(project) is None:
            names = ", ".join(one.name for one in self.worker.projects.all())
            raise DeskError(f"{project}: no skill of this daemon (it keeps {names})")

    def _tell_queued(self, job: Job, said: str) -> None:
        self.bus.publish("job", said, project=job.project, job=job.number, state="queued")
        self.worker.wake()


def _ended(job: Job, now: float, reason: str) -> Job:
    return Job(**{**vars(job), "state": "cancelled", "ended": now, "reason": reason})
