"""How much a skill is used by people, and how often that went wrong: what the next skill to hone is chosen by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daemon.inbox.patterns import of_skill
from daemon.inbox.record import SessionRecord

ERRORS = 3
"""Failed calls of one name in a session from which on it counts as gone wrong: one or two are everyday work."""


@dataclass(frozen=True)
class Use:
    """A skill's use, as far as the inbox reaches back."""

    skill: str
    sessions: int = 0
    """In which it was listed or opened."""
    opened: int = 0
    failed: int = 0
    """Of those that opened it: gone wrong, see `went_wrong`."""
    current: int = 0
    """Of those that opened it: with the body that it has now; a session that tells no digest does not count."""
    since: float | None = None
    """When the oldest and the newest of the sessions ended, seconds since 1970; None: unknown."""
    until: float | None = None

    @property
    def unopened(self) -> int:
        """Sessions in which it was listed and not opened."""
        return self.sessions - self.opened

    @property
    def failure_rate(self) -> float:
        """Of those that opened it, the share that went wrong; 0 where there are none."""
        return self.failed / self.opened if self.opened else 0.0


def use_of(sessions: Iterable[SessionRecord], skill: str, digest: str = "") -> Use:
    """A skill's use in these sessions, which are in any order. Pure.

    `digest`: of the body that it has now (`body_digest`); empty: unknown.
    """
    seen = [record for record in sessions if record.skill(skill)]
    opened = [record for record in seen if (one := record.skill(skill)) and one.opened]
    ends = [record.ended for record in seen if record.ended is not None]
    return Use(
        skill=skill,
        sessions=len(seen),
        opened=len(opened),
        failed=sum(went_wrong(record, skill) for record in opened),
        current=sum(bool(digest) and one.digest == digest for record in opened if (one := record.skill(skill))),
        since=min(ends, default=None),
        until=max(ends, default=None),
    )


def went_wrong(record: SessionRecord, skill: str) -> bool:
    """After the skill was opened, the person corrected the agent or gave up, or the agent went round in circles."""
    return any(one.kind != "error" or one.count >= ERRORS for one in of_skill(record, skill))
