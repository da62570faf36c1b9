"""Times of jobs, looked at by a clock that may have been wrong when they were written. Pure."""

from __future__ import annotations

from dataclasses import replace

from daemon.jobs.job import Job

LONGEST_WAIT_S = 2 * 86_400.0
"""No job is put off further than until the next day's budget."""


def within(job: Job, now: float) -> Job:
    """The job with no time that only a wrong clock can have written: a wait of months, an end that is to come."""
    not_before = 0.0 if job.not_before > now + LONGEST_WAIT_S else job.not_before
    ended = None if job.ended is None else min(job.ended, now)
    return replace(job, not_before=not_before, created=min(job.created, now), ended=ended)
