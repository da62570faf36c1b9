"""A project at the moment of choosing, and where it stands: running, queued, waiting, cooling, idle … and why. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.jobs.hours import Quiet, quiet_until
from daemon.jobs.job import BY_PEOPLE, CauseKind, Job
from daemon.jobs.words import cause_in_words
from daemon.service.desk import ProjectState

DAY_S = 86_400.0
LONGEST_COOLDOWN_S = 7 * DAY_S
_BEFORE_COOLDOWN: frozenset[CauseKind] = BY_PEOPLE | {"schedule", "new", "restart"}
_AT_ANY_HOUR: frozenset[CauseKind] = frozenset({"asked", "retry"})


@dataclass(frozen=True)
class Rules:
    """What the configuration says about when to work."""

    quiet: tuple[Quiet, ...] = ()
    cooldown_s: float = DAY_S
    runs: int = 1


@dataclass(frozen=True)
class Standing:
    """One project at the moment of choosing."""

    project: str
    jobs: tuple[Job, ...] = ()
    """All of the project, in order of creation."""
    sessions: int = 0
    """People's sessions lately in which the skill was at hand."""
    failed: int = 0
    """Those of them that went wrong."""
    paused: str = ""
    """Why nothing of it is begun."""
    broken: str = ""
    """Why it cannot be worked on until a person changes something."""
    blocked: str = ""
    """What it waits for: a provider, the engine, the disk, the day's budget."""
    blocked_until: float | None = None

    @property
    def queued(self) -> tuple[Job, ...]:
        """Jobs that wait, oldest first."""
        return tuple(job for job in self.jobs if job.state == "queued")

    @property
    def running(self) -> Job | None:
        """The job that is worked on."""
        return next((job for job in self.jobs if job.state == "running"), None)

    @property
    def results(self) -> tuple[Job, ...]:
        """Jobs whose run came to its end, oldest first."""
        return tuple(job for job in self.jobs if job.accepted is not None and job.state == "done")


@dataclass(frozen=True)
class Seat:
    """Where a project stands."""

    project: str
    state: ProjectState
    why: str
    next_at: float | None = None


def seat_of(one: Standing, rules: Rules, now: float, paused: str = "") -> Seat:
    """Where a project stands; `paused`: why nothing at all is begun."""
    unable = _unable(one, paused)
    if unable is not None:
        return unable
    if not one.queued:
        return _idle(one)
    if one.blocked:
        return Seat(one.project, "waiting", one.blocked, one.blocked_until)
    due = [job for job in one.queued if job.not_before <= now]
    if not due:
        job = min(one.queued, key=lambda job: job.not_before)
        return Seat(one.project, "waiting", job.reason or f"job {job.number} begins later", job.not_before)
    held = _held(one, due, rules, now)
    return held or Seat(one.project, "queued", f"job {due[0].number}: {cause_in_words(due[0].cause)}")


def _unable(one: Standing, paused: str) -> Seat | None:
    """It runs already, or may not at all."""
    if one.running is not None:
        return Seat(one.project, "training", f"job {one.running.number}: {cause_in_words(one.running.cause)}")
    if one.broken:
        return Seat(one.project, "broken", one.broken)
    if paused or one.paused:
        return Seat(one.project, "paused", one.paused or paused)
    return None


def _held(one: Standing, due: Sequence[Job], rules: Rules, now: float) -> Seat | None:
    """What the rules have against beginning now."""
    if not any(job.cause.kind in _BEFORE_COOLDOWN for job in due):
        until = cooldown_until(one.results, rules.cooldown_s)
        if until is not None and until > now:
            return Seat(one.project, "cooling", "the last runs accepted nothing; an act of a person ends this", until)
    if not any(job.cause.kind in _AT_ANY_HOUR for job in due):
        until = quiet_until(rules.quiet, now)
        if until is not None:
            return Seat(one.project, "waiting", "quiet hours ([daemon] quiet)", until)
    return None


def cooldown_until(results: Sequence[Job], cooldown_s: float) -> float | None:
    """Until when causes that are nobody's act wait: longer after each run in a row that accepted nothing."""
    fruitless = 0
    for job in reversed(results):
        if job.accepted:
            break
        fruitless += 1
    if not fruitless or results[-1].ended is None or not cooldown_s:
        return None
    return results[-1].ended + min(cooldown_s * 2.0 ** min(fruitless - 1, 30), LONGEST_COOLDOWN_S)


def _idle(one: Standing) -> Seat:
    last = one.results[-1] if one.results else None
    if last is not None and last.score is not None and last.score >= 1.0:
        return Seat(one.project, "nothing-to-learn", "every selection task is solved: new tasks would change that")
    failed = [job for job in one.jobs if job.state == "failed"]
    if failed and one.jobs[-1] == failed[-1]:
        return Seat(one.project, "idle", f"job {failed[-1].number} failed: {failed[-1].reason}")
    return Seat(one.project, "idle", "nothing has changed since the last run" if one.jobs else "nothing to do yet")
