"""What a run of a project is worth now, with the figures in words. Pure.

value = headroom over noise x chance of an accepted edit x use x age / share
"""

from __future__ import annotations

import math

from daemon.jobs.standing import DAY_S, Standing
from daemon.service.desk import Weighed

_UNKNOWN_HEADROOM = 0.5
"""Of a skill that was never scored."""
_LEAST_HEADROOM = 0.01
"""Scores are noisy: never nothing."""
_RECENT_RUNS = 5


def weigh(one: Standing, now: float, eligible: bool) -> Weighed:
    """The value of a run now, and its factors in words."""
    results = one.results
    scored = [job for job in one.jobs if job.score is not None]
    if scored:
        score, n = scored[-1].score or 0.0, max(1, scored[-1].tasks)
        noise = math.sqrt(max(score * (1 - score), 0.25 / n) / n)
        room = max(_LEAST_HEADROOM, 1.0 - score - noise)
        said = f"headroom {1 - score:.2f}, noise {noise:.2f} ({n} selection tasks)"
    else:
        room, said = _UNKNOWN_HEADROOM, "never scored yet"
    recent = results[-_RECENT_RUNS:]
    won = sum(bool(job.accepted) for job in recent)
    chance = (won + 1) / (len(recent) + 2)
    use = 1.0 + math.log2(1 + one.failed)
    last = max((job.ended for job in one.jobs if job.ended is not None and job.tries), default=None)
    age = 1.0 if last is None else 1.0 + min(max(0.0, now - last) / DAY_S, 30.0) / 10
    share = 1 + sum(1 for job in one.jobs if job.started is not None and job.started > now - DAY_S)
    value = room * chance * use * age / share
    reasons = (
        said,
        f"{won} of the last {len(recent)} runs accepted something: chance {chance:.2f}",
        f"{one.failed} of {one.sessions} sessions with the skill went wrong: x {use:.2f}",
        "never run" if last is None else f"last run {max(0.0, now - last) / 3600:.1f} h ago: x {age:.2f}",
        f"{share - 1} begun in the last 24 h: / {share}",
    )
    return Weighed(one.project, eligible, value, reasons, running=one.running.number if one.running else 0)
