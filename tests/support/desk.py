"""A `Desk` that answers from a script and remembers what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from daemon.jobs.job import Cause, Job
from daemon.service.desk import DeskError, Explanation, ProjectStatus, Status, Weighed
from daemon.telling.events import Bus


def a_job(number: int = 1, project: str = "greeting", **changes: object) -> Job:
    """A queued job of a person's change; `changes` are fields of `Job`."""
    job = Job(number, project, Cause("skill", f"commit-{number}", "a person changed it"), "queued", created=1_000.0)
    return replace(job, **changes)  # type: ignore[arg-type]


def a_project(name: str = "greeting", **changes: object) -> ProjectStatus:
    """An idle project; `changes` are fields of `ProjectStatus`."""
    status = ProjectStatus(
        name=name,
        file=f"/team/{name}/honed.toml",
        skill=f"skills/{name}",
        branch=f"honed/{name}",
        state="idle",
        why="nothing has changed since its last run",
        score=0.5,
        accepted=2,
        queued=(),
        last=None,
        progress=None,
        next_at=None,
        spent_today_usd=0.25,
        attempts_today=12,
    )
    return replace(status, **changes)  # type: ignore[arg-type]


def a_status(*projects: ProjectStatus, **changes: object) -> Status:
    """A working daemon that keeps these projects (one idle one if none is given)."""
    status = Status(
        state="working",
        version="0.1.0",
        pid=4711,
        boot="boot-1",
        started=900.0,
        now=1_000.0,
        engine="docker 20.10",
        paused="",
        projects=projects or (a_project(),),
        troubles=(),
        events=0,
    )
    return replace(status, **changes)  # type: ignore[arg-type]


@dataclass
class FakeDesk:
    """A `Desk`: set its fields to say what it answers; `asked` holds every call with its arguments."""

    shown: Status = field(default_factory=a_status)
    events: Bus = field(default_factory=Bus)
    is_alive: bool = True
    not_ready: str = ""
    queue: tuple[Job, ...] = ()
    weighed: tuple[Weighed, ...] = ()
    refuses: str = ""
    """What every act is refused with; empty: it is done."""
    asked: list[tuple[object, ...]] = field(default_factory=list)
    looks: int = 0
    """How often its status was asked for."""

    def alive(self) -> bool:
        """As the seam says."""
        return self.is_alive

    def ready(self) -> str:
        """As the seam says."""
        return self.not_ready

    async def status(self) -> Status:
        """As the seam says."""
        self.looks += 1
        return replace(self.shown, events=self.events.newest)

    async def explain(self, number: int) -> Explanation:
        """As the seam says."""
        return Explanation(self._job(number), "it is the only one", self.weighed)

    async def jobs(self, newest: int) -> tuple[Job, ...]:
        """As the seam says."""
        return self.queue[max(0, len(self.queue) - newest) :]

    async def train(self, file: str) -> Job:
        """As the seam says."""
        self._ask("train", file)
        for project in self.shown.projects:
            if project.file == file:
                return a_job(len(self.queue) + 1, project.name, cause=Cause("asked", "asked-1"))
        raise DeskError(f"{file}: this daemon does not keep it: add it to [daemon] also")

    async def pause(self, project: str, reason: str) -> None:
        """As the seam says."""
        self._ask("pause", project, reason)

    async def resume(self, project: str) -> None:
        """As the seam says."""
        self._ask("resume", project)

    async def cancel(self, number: int, *, hard: bool) -> Job:
        """As the seam says."""
        self._ask("cancel", number, hard)
        return replace(self._job(number), state="cancelled")

    async def retry(self, number: int) -> Job:
        """As the seam says."""
        self._ask("retry", number)
        return replace(self._job(number), state="queued")

    async def reload(self) -> None:
        """As the seam says."""
        self._ask("reload")

    def _ask(self, *what: object) -> None:
        self.asked.append(what)
        if self.refuses:
            raise DeskError(self.refuses)

    def _job(self, number: int) -> Job:
        for job in self.queue:
            if job.number == number:
                return job
        raise DeskError(f"there is no job {number}: see `honed status`")
