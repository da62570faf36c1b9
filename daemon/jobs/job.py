"""A job of the daemon: train one skill, because of a cause.

Invariants: equal causes of one project are one job, whoever saw them and however often; a job that a kill interrupted
is queued again, and its run goes on where it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CauseKind = Literal[
    "new", "tasks", "skill", "taken-back", "request", "config", "inbox", "schedule", "more", "asked", "retry", "restart"
]
"""Why a run: a skill the daemon did not know; new or changed tasks; a person's change of the skill; an edit that a
person took back; a request merged or closed; a changed configuration; a pattern in people's sessions; the schedule; the
run before accepted something; `honed train`; `honed retry`; a start of the daemon after a job that failed."""

BY_PEOPLE: frozenset[CauseKind] = frozenset({"tasks", "skill", "taken-back", "request", "config", "asked", "retry"})
"""Acts of people: they end a cool-down at once."""

JobState = Literal["queued", "running", "done", "failed", "cancelled", "joined"]
"""`joined`: another job of the same project began later than this one's cause, and did its work too."""

ENDED: frozenset[JobState] = frozenset({"done", "failed", "cancelled", "joined"})


@dataclass(frozen=True)
class Cause:
    """What happened."""

    kind: CauseKind
    key: str
    """What makes two causes of a kind the same: a digest, a commit, a run."""
    detail: str = ""
    """One sentence for people, or nothing. May hold text of theirs: hostile data."""


@dataclass(frozen=True)
class Job:
    """One row of the queue. Times are Unix times."""

    number: int
    """From 1, in order of creation."""
    project: str
    """`Project.name`."""
    cause: Cause
    state: JobState
    created: float
    not_before: float = 0.0
    """Not begun earlier: a provider or a budget has to come back first."""
    started: float | None = None
    ended: float | None = None
    run_id: str = ""
    """The newest run that worked on it."""
    reason: str = ""
    """How it ended, or what it waits for."""
    tries: int = 0
    """How often it was begun."""
    accepted: int | None = None
    """Edits that its run accepted; None: no run came to its end."""
    score: float | None = None
    """Selection score of the skill afterwards."""
    tasks: int = 0
    """Selection tasks with a valid score, which `score` rests on."""
    chosen: str = ""
    """Why it was chosen when it was last begun; empty: it never was."""
