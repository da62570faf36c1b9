"""Which job comes next: a pure function of what stands now, and sentences that say why.

Order: acts of people first (and what has waited for a day), then by value (`weigh.py`), then the oldest. Nothing here
knows the clock: `now` is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daemon.jobs.job import BY_PEOPLE, Job
from daemon.jobs.standing import DAY_S, Rules, Seat, Standing, seat_of
from daemon.jobs.weigh import weigh
from daemon.jobs.words import cause_in_words
from daemon.service.desk import Weighed


@dataclass(frozen=True)
class Choice:
    """What to do now."""

    job: Job | None
    why: str
    seats: tuple[Seat, ...]
    weighed: tuple[Weighed, ...]
    """Best first."""
    wake_at: float | None
    """When the answer may be another one without anything having happened."""


def choose(standings: Iterable[Standing], rules: Rules, now: float, *, paused: str = "") -> Choice:
    """The next job, if one may begin; `paused`: why nothing at all is begun."""
    ordered = sorted(standings, key=lambda one: one.project)
    seats = tuple(seat_of(one, rules, now, paused) for one in ordered)
    ready = [one for one, seat in zip(ordered, seats, strict=True) if seat.state == "queued"]
    weighed = sorted((weigh(one, now, one in ready) for one in ordered), key=lambda w: (-w.value, w.project))
    wakes = [seat.next_at for seat in seats if seat.next_at is not None and seat.next_at > now]
    wake_at = min(wakes, default=None)
    running = sum(one.running is not None for one in ordered)
    if running >= rules.runs or not ready:
        why = f"{running} of {rules.runs} runs at work" if ready else "no job may begin now"
        return Choice(None, why, seats, tuple(weighed), wake_at)
    values = {one.project: one.value for one in weighed}
    best = min(ready, key=lambda one: (-_urgent(one, now), -values[one.project], _oldest(one).created, one.project))
    job = _leading(best, now)
    return Choice(job, _because(job, best, len(ready), values), seats, tuple(weighed), wake_at)


def _urgent(one: Standing, now: float) -> bool:
    """A person acted, or something has waited for a day."""
    return any(job.cause.kind in BY_PEOPLE or now - job.created > DAY_S for job in one.queued if job.not_before <= now)


def _oldest(one: Standing) -> Job:
    return one.queued[0]


def _leading(one: Standing, now: float) -> Job:
    """The job that names the run: a person's act before others, then the oldest."""
    due = [job for job in one.queued if job.not_before <= now]
    return min(due, key=lambda job: (job.cause.kind not in BY_PEOPLE, job.number))


def _because(job: Job, one: Standing, ready: int, values: dict[str, float]) -> str:
    act = "an act of a person comes first" if job.cause.kind in BY_PEOPLE else "highest expected gain"
    among = f" of {ready} projects that could run" if ready > 1 else ""
    return f"{cause_in_words(job.cause)}: {act}{among} (value {values[one.project]:.3f})"
