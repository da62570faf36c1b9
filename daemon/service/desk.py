"""The `Desk` seam: what can be asked of a running daemon, and what it answers.

The control socket, `/healthz` and `/metrics` know nothing but this; the fake beside it answers from a script.

Every answer is data about what is, never text of agents or models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from daemon.jobs.job import Job
from daemon.telling.events import Bus

DaemonState = Literal["starting", "working", "draining", "stopped"]
ProjectState = Literal["training", "queued", "waiting", "paused", "cooling", "idle", "nothing-to-learn", "broken"]
"""`waiting`: a job stands in the queue until a provider, a budget or the clock lets it begin."""


class DeskError(Exception):
    """What was asked cannot be done; `str()` is one line with the remedy."""


@dataclass(frozen=True)
class Progress:
    """The job that runs."""

    job: Job
    run_id: str = ""
    phase: str = ""
    step: int = 0
    steps: int = 0
    attempts: int = 0
    """Ended in this process."""
    running: int = 0
    """Attempts at this moment."""


@dataclass(frozen=True)
class ProjectStatus:
    """One project, as it stands. Times are Unix times."""

    name: str
    file: str
    skill: str
    branch: str
    state: ProjectState
    why: str
    """One sentence: why it is in this state, and what would change that."""
    score: float | None
    """Selection score after the newest run that came to its end."""
    accepted: int
    """Edits accepted by all jobs so far."""
    queued: tuple[Job, ...]
    last: Job | None
    """The newest job that ended."""
    progress: Progress | None
    next_at: float | None
    """When it may begin, as far as known."""
    spent_today_usd: float | None
    """None: a price is unknown."""
    attempts_today: int
    cap_today_usd: float | None = None
    """`[budget.day] usd`; None: no cap. Likewise the next one."""
    cap_today_attempts: int | None = None


@dataclass(frozen=True)
class Trouble:
    """Something that does not work now; gone from the status once it does again."""

    name: str
    """Such as `engine`, `disk`, `provider openai`, `config`."""
    project: str
    since: float
    what: str
    """What is wrong and what honed does about it."""
    remedy: str


@dataclass(frozen=True)
class CircuitStatus:
    """A provider's circuit."""

    provider: str
    """Who is asked, with which key."""
    phase: Literal["closed", "open", "half_open"]
    reason: str
    """Empty while closed."""


@dataclass(frozen=True)
class Status:
    """The whole daemon."""

    state: DaemonState
    version: str
    pid: int
    boot: str
    """Names this process: another one after each start."""
    started: float
    now: float
    engine: str
    """Engine and version; empty where none is needed."""
    paused: str
    """Why nothing at all is begun; empty if something is."""
    projects: tuple[ProjectStatus, ...]
    troubles: tuple[Trouble, ...]
    events: int
    """Number of the newest event."""
    looks: int = 0
    """At what stands, since this process began."""
    circuits: tuple[CircuitStatus, ...] = ()
    cap_today_usd: float | None = None
    """`[daemon.day] usd`, as it counts now; None: no cap. Likewise the next one."""
    cap_today_attempts: int | None = None


@dataclass(frozen=True)
class Weighed:
    """A project at the moment of choosing."""

    project: str
    eligible: bool
    value: float
    """What it was ordered by: the higher, the sooner."""
    reasons: tuple[str, ...]
    """Sentences with the figures that led to it."""
    running: int = 0
    """Number of the job that it runs now; 0: none."""


@dataclass(frozen=True)
class Explanation:
    """Why a job is where it is."""

    job: Job
    why: str
    weighed: tuple[Weighed, ...]
    """All projects as they are weighed now, best first."""


class Desk(Protocol):
    """A running daemon, seen from its control socket."""

    @property
    def events(self) -> Bus:
        """What happens."""

    def alive(self) -> bool:
        """The loop of the daemon turned within the last seconds: `/healthz`."""

    def ready(self) -> str:
        """Why it cannot work now; empty if it can: `/readyz`."""

    async def status(self) -> Status:
        """Everything, as it stands."""

    async def explain(self, number: int) -> Explanation:
        """Why a job was chosen, or waits; raises `DeskError` if there is none of this number."""

    async def jobs(self, newest: int) -> tuple[Job, ...]:
        """The newest jobs, oldest first."""

    async def train(self, file: str) -> Job:
        """Queue a run of the project of this honed.toml; raises `DeskError` for a file it does not keep."""

    async def pause(self, project: str, reason: str) -> None:
        """Begin nothing new, of one project or (empty) at all; what runs drains. Raises `DeskError`."""

    async def resume(self, project: str) -> None:
        """End a pause. Raises `DeskError` if there is none."""

    async def cancel(self, number: int, *, hard: bool) -> Job:
        """End a job: soft lets running attempts finish, hard stops them. Raises `DeskError`."""

    async def retry(self, number: int) -> Job:
        """Queue an ended job's work again. Raises `DeskError`."""

    async def reload(self) -> None:
        """Read the configuration again, as SIGHUP does."""
