"""The daemon's work: choose a job, run it, write down how it ended, choose again.

Invariants: a job's row is written before its run begins and after it ended; never two runs of one project; while
draining nothing begins, and what was running stays in the queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from daemon.housekeeping.memory import give_back
from daemon.inbox.use import Use
from daemon.jobs.choose import Choice, choose
from daemon.jobs.clock import within
from daemon.jobs.hours import read_quiet
from daemon.jobs.job import ENDED, Cause, Job
from daemon.jobs.standing import Rules, Standing
from daemon.jobs.store import JobStore
from daemon.journal.journal import JournalError
from daemon.service.board import Board
from daemon.service.circuits import Circuits
from daemon.service.ended import ended_run, run_of
from daemon.service.ends import JobEnd
from daemon.service.leash import Leash, Pull
from daemon.service.project import Project
from daemon.service.projects import Projects
from daemon.service.runner import Runner
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus

log = structlog.get_logger(__name__)

_LONGEST_SLEEP_S = 300.0
"""A clock that jumps is noticed at least so soon."""
_STORE_S = 5.0
"""Between tries of a store that cannot be written."""
NEWEST = 500
"""Jobs that choosing looks at."""


@dataclass
class Running:
    """A job whose run is open."""

    job: Job
    leash: Leash
    task: asyncio.Task[JobEnd]


@dataclass
class Worker:
    """The loop; one object a daemon."""

    projects: Projects
    store: JobStore
    runner: Runner
    board: Board
    bus: Bus
    circuits: Circuits
    troubles: Troubles
    after_run: Callable[[Project], Awaitable[None]]
    """Looks at a project once its run has ended."""
    blocked: Callable[[], str] = lambda: ""
    """Why nothing at all may begin: a full disk, say."""
    uses: Mapping[str, Use] = field(default_factory=dict)
    """People's use of each project's skill, as far as it is known."""
    clock: Callable[[], float] = time.time
    running: dict[str, Running] = field(default_factory=dict)
    draining: str = ""
    """Why nothing begins any more; empty while it works."""
    last: Choice | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        """Something has changed: choose again."""
        self._news.set()

    async def recover(self) -> None:
        """What a dead process was working on waits again; its run goes on where it was."""
        for job in await self.store.jobs(open_only=True):
            if job.state == "running":
                project = self.projects.named(job.project)
                run_id = await run_of(project, job) if project else ""
                reason = "goes on after the daemon was ended"
                await self.store.save(replace(job, state="queued", reason=reason, run_id=run_id or job.run_id))
                log.info("a job goes on", job=job.number, project=job.project)

    async def work(self) -> None:
        """Until it is drained."""
        while not (self.draining and not self.running):
            self._news.clear()
            try:
                wait = await self._turn()
            except JournalError as error:
                self.troubles.begin("job store", str(error), remedy="free some space, or make the folder writable")
                wait = _STORE_S
            else:
                self.troubles.end("job store")
            if wait > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), min(wait, _LONGEST_SLEEP_S))

    async def _turn(self) -> float:
        """Choose, and begin what was chosen; how many seconds the next turn may wait for news."""
        choice = await self.choice()
        if choice.job is not None and not self.draining:
            await self._begin(choice.job, choice.why)
            return 0.0
        return _LONGEST_SLEEP_S if choice.wake_at is None else max(choice.wake_at - self.clock(), 0.01)

    async def choice(self) -> Choice:
        """What would be begun now, and where each project stands."""
        pauses = {pause.project: pause.reason or "somebody paused it" for pause in await self.store.pauses()}
        jobs = tuple(within(job, self.clock()) for job in await self.store.jobs(newest=NEWEST))
        standings = [self._standing(one, jobs, pauses) for one in self.projects.all()]
        paused = pauses.get("") or self.blocked()
        self.last = choose(standings, self._rules(), self.clock(), paused=paused)
        return self.last

    def pull(self, how: Pull, reason: str, project: str = "") -> None:
        """Let running runs end softly: one project's, or all."""
        for name, run in self.running.items():
            if project in ("", name):
                run.leash.pull(how, reason)

    async def stop_hard(self, project: str = "") -> None:
        """End runs at once; their leash says what for."""
        tasks = [run.task for name, run in self.running.items() if project in ("", name)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def try_now(self, project: str) -> None:
        """Something changed where its jobs had failed: they need not wait out their time."""
        for job in await self.store.jobs(open_only=True):
            if job.project == project and job.state == "queued" and job.not_before:
                await self.store.save(replace(job, not_before=0.0))
        self.wake()

    def _rules(self) -> Rules:
        section = self.projects.main.daemon
        quiet = tuple(read_quiet(text) for text in section.quiet)
        return Rules(quiet, section.cooldown_h * 3600, section.runs)

    def _standing(self, project: Project, jobs: tuple[Job, ...], pauses: dict[str, str]) -> Standing:
        blocked = self.circuits.blocked(project.config)
        use = self.uses.get(project.name) or Use(project.name)
        return Standing(
            project.name,
            tuple(job for job in jobs if job.project == project.name),
            sessions=use.sessions,
            failed=use.failed,
            paused=pauses.get(project.name, ""),
            broken=project.wrong,
            blocked=blocked[0] if blocked else "",
            blocked_until=self.clock() + blocked[1] if blocked else None,
        )

    async def _begin(self, job: Job, why: str) -> None:
        project = self.projects.named(job.project)
        assert project is not None, "only projects that are kept are chosen from"
        now = self.clock()
        job = replace(job, state="running", started=now, tries=job.tries + 1, reason=why)
        await self.store.save(job)
        # A job whose run has ended already only comes to its end: it does no other's work.
        if not job.run_id or await ended_run(project, job.run_id) is None:
            await self._join(job, now)
        self.board.begin(job)
        self.bus.publish("job", f"begins: {why}", project=job.project, job=job.number, state="running", tries=job.tries)
        leash = Leash()
        task = asyncio.create_task(self._run(project, job, leash), name=f"job {job.number}")
        self.running[job.project] = Running(job, leash, task)

    async def _join(self, job: Job, now: float) -> None:
        """Whatever waits for the project is done by the run that begins now."""
        for other in await self.store.jobs(open_only=True):
            if other.project == job.project and other.state == "queued" and other.number != job.number:
                await self.store.save(replace(other, state="joined", ended=now, reason=f"done by job {job.number}"))

    async def _run(self, project: Project, job: Job, leash: Leash) -> JobEnd:
        end = await self.runner.run(project, job, leash)
        run_id = end.run_id or getattr(self.board.progress(project.name), "run_id", "")
        while not await self._written_down(project, replace(job, run_id=run_id), end):
            log.warning("a job's end is written again", job=job.number)
        self.board.end(project.name)
        del self.running[project.name]
        await self.after_run(project)
        self.wake()
        if not self.running:
            await asyncio.to_thread(give_back)
        return end

    async def _written_down(self, project: Project, job: Job, end: JobEnd) -> bool:
        """False: the store could not be written. A daemon that ends now finds the job running, and goes on with it."""
        try:
            await self._write_down(project, job, end)
        except JournalError as error:
            self.troubles.begin("job store", str(error), remedy="free some space, or make the folder writable")
            if not self.draining:
                await asyncio.sleep(_STORE_S)
            return bool(self.draining)
        return True

    async def _write_down(self, project: Project, job: Job, end: JobEnd) -> None:
        now = self.clock()
        ended = now if end.state in ENDED else None
        done = replace(job, state=end.state, reason=end.reason, not_before=end.not_before, ended=ended)
        if end.accepted is not None:
            done = replace(done, accepted=end.accepted, score=end.score, tasks=end.tasks)
        # What follows is queued first: a kill between the two must not end the work.
        if end.state == "done" and end.accepted and self.projects.main.daemon.again:
            await self.store.add(project.name, Cause("more", end.run_id), now)
        await self.store.save(done)
        if end.trouble:
            self.troubles.begin(end.trouble, end.reason, project=project.name)
        elif end.state == "done":
            self.troubles.end_all(project.name)
        facts: dict[str, Any] = {"state": end.state, "run": done.run_id, "accepted": end.accepted, "score": end.score}
        facts |= {"branch": end.branch, "commits": list(end.commits), "not_before": end.not_before, "error": end.error}
        said = f"{end.state}: {end.reason}" if end.state != "queued" else f"waits: {end.reason}"
        self.bus.publish("job", said, project=project.name, job=job.number, **facts)
