"""The daemon's work: choose a job, run it, write down how it ended, choose again.

Invariants: a job's row is written before its run begins and after it ended; never two runs of one project; while
draining nothing begins, and what was running stays in the queue. What is told to a run (drain, pause, cancel) reaches
it from the moment on at which it was chosen; once its run has ended, a job's end is written and never cut off.
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
from daemon.service.ends import OF_RUNS, JobEnd, end_of
from daemon.service.leash import Drained, Leash, Pull
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
_NEWEST = 500
"""Jobs that choosing looks at, and all that have not ended."""


@dataclass
class Running:
    """A job that was chosen and whose end is not written yet."""

    job: Job
    leash: Leash
    task: asyncio.Task[None] | None = None
    """None: it is being begun."""
    over: bool = False
    """Its run has ended: what is left is to write that down."""


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
    _shut_out: set[str] = field(default_factory=set)
    """Projects whose provider's circuit was open when their last run ended."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Of jobs, with the look that follows each."""

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
            except JournalError as error:  # the store tells it as a trouble
                log.warning("nothing can be begun", error=str(error))
                wait = _STORE_S
            if wait > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), min(wait, _LONGEST_SLEEP_S))
        for task in self._tasks:  # only looks are left: the next process makes them
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _turn(self) -> float:
        """Choose, and begin what was chosen; how many seconds the next turn may wait for news."""
        choice = await self.choice()
        if choice.job is not None and not self.draining:
            await self._begin(choice.job, choice.why)
            return 0.0  # choose once more
        return _LONGEST_SLEEP_S if choice.wake_at is None else max(choice.wake_at - self.clock(), 0.01)

    async def choice(self) -> Choice:
        """What would be begun now, and where each project stands."""
        pauses = {pause.project: pause.reason or "somebody paused it" for pause in await self.store.pauses()}
        jobs = await self.jobs()
        standings = [self._standing(one, jobs, pauses) for one in self.projects.all()]
        paused = pauses.get("") or self.blocked()
        self.last = choose(standings, self._rules(), self.clock(), paused=paused)
        return self.last

    async def jobs(self) -> tuple[Job, ...]:
        """The newest jobs, and every one that waits or runs however old it is, in order of creation."""
        found = {job.number: job for job in await self.store.jobs(newest=_NEWEST)}
        found |= {job.number: job for job in await self.store.jobs(open_only=True)}
        now = self.clock()
        return tuple(within(job, now) for _, job in sorted(found.items()))

    def pull(self, how: Pull, reason: str, project: str = "") -> None:
        """Let running runs end softly: one project's, or all."""
        for name, run in self.running.items():
            if project in ("", name):
                run.leash.pull(how, reason)

    async def stop_hard(self, project: str = "") -> None:
        """End runs at once; their leash says what for. What has ended already is only waited for."""
        runs = [run for name, run in self.running.items() if project in ("", name)]
        tasks = [run.task for run in runs if run.task is not None]
        for run in runs:
            if run.task is not None and not run.over:
                run.task.cancel()
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
        if project.name in self._shut_out and self.circuits.closed(project.config):  # another one's probe may do that
            self._shut_out.discard(project.name)
            self.troubles.end("provider", project=project.name)
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
        run = self.running[job.project] = Running(job, Leash())
        try:
            if not await self._still_waits(job):
                del self.running[job.project]
                return
            begun: dict[str, Any] = {"started": self.clock(), "tries": job.tries + 1, "reason": why, "chosen": why}
            job = run.job = replace(job, state="running", **begun)
            await self.store.save(job)
        except BaseException:
            del self.running[job.project]
            raise
        self.board.begin(job)
        self.bus.publish("job", f"begins: {why}", project=job.project, job=job.number, state="running", tries=job.tries)
        run.task = asyncio.create_task(self._run(project, run), name=f"job {job.number}")
        self._tasks.add(run.task)
        run.task.add_done_callback(self._tasks.discard)

    async def _still_waits(self, job: Job) -> bool:
        """Nobody cancelled it or paused its project while it was chosen; whoever does so from now on finds it here."""
        found = await self.store.job(job.number)
        paused = {pause.project for pause in await self.store.pauses()}
        return found is not None and found.state == "queued" and not paused & {"", job.project}

    async def _join(self, project: Project, job: Job) -> None:
        """Whatever waits for the project is done by the run that begins now."""
        if job.run_id:
            try:
                ended = await ended_run(project, job.run_id)
            except JournalError:
                return  # nobody can tell now: the run itself will say why
            if ended is not None:
                return  # the job only comes to its end: it does no other's work
        for other in await self.store.jobs(open_only=True):
            if other.project == job.project and other.state == "queued" and other.number != job.number:
                await self.store.save(
                    replace(other, state="joined", ended=job.started, reason=f"done by job {job.number}")
                )

    async def _run(self, project: Project, run: Running) -> None:
        try:
            end = await self._end_of(project, run)
            run.over = True
            run_id = end.run_id or getattr(self.board.progress(project.name), "run_id", "") or run.job.run_id
            await self._written(lambda: self._write_down(project, replace(run.job, run_id=run_id), end), run)
        finally:
            self.board.end(project.name)
            del self.running[project.name]
            if self.draining:
                self.wake()
        try:
            await self.after_run(project)
        except Exception:  # the poll looks again
            log.exception("a look after a run failed", project=project.name)
        self.wake()
        if not self.running:
            await asyncio.to_thread(give_back)

    async def _end_of(self, project: Project, run: Running) -> JobEnd:
        job, leash = run.job, run.leash
        try:
            if await self._written(lambda: self._join(project, job), run) and not leash.pulled:
                return await self.runner.run(project, job, leash)
        except asyncio.CancelledError:
            if not leash.pulled:
                raise
        return end_of(Drained(leash.reason or self.draining), leash, job.tries, self.clock())

    async def _written(self, write: Callable[[], Awaitable[None]], run: Running) -> bool:
        """Write until it stands. False: it cannot be, and nobody waits for it any more.

        A daemon that ends now finds the job running at its next start, and goes on with it.
        """
        while True:
            try:
                await write()
            except JournalError as error:
                log.warning("a job cannot be written down", job=run.job.number, error=str(error))
                if self.draining or (run.leash.pulled and not run.over):
                    return False
                await asyncio.sleep(_STORE_S)
            else:
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
            if end.trouble == "provider" and not self.circuits.closed(project.config):
                self._shut_out.add(project.name)
        elif end.state == "done":
            self.troubles.end_all(project.name, OF_RUNS)
        facts: dict[str, Any] = {"state": end.state, "run": done.run_id, "accepted": end.accepted, "score": end.score}
        facts |= {"branch": end.branch, "commits": list(end.commits), "not_before": end.not_before, "error": end.error}
        said = f"{end.state}: {end.reason}" if end.state != "queued" else f"waits: {end.reason}"
        self.bus.publish("job", said, project=project.name, job=job.number, **facts)
