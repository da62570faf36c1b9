"""What goes wrong again and again: incidents of many sessions under one name each, with counts and short examples.

Pure functions over what the inbox keeps: the same sessions give the same patterns, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from daemon.inbox.record import KINDS, Incident, Kind, SessionRecord

EXAMPLES = 3


@dataclass(frozen=True)
class Example:
    """One session's words for it."""

    session: str
    """The session's key."""
    text: str
    asked: str
    """What the person had asked for."""


@dataclass(frozen=True)
class Pattern:
    """One thing that goes wrong."""

    kind: Kind
    label: str
    sessions: int
    """In how many."""
    count: int
    """How often in all."""
    keys: tuple[str, ...]
    """Of those sessions, ordered."""
    examples: tuple[Example, ...]
    """Of the newest sessions."""
    last: float | None = None
    """When the newest of them ended, seconds since 1970."""


@dataclass
class _Group:
    count: int = 0
    rows: list[tuple[SessionRecord, Incident]] = field(default_factory=list)


def patterns(sessions: Iterable[SessionRecord], skill: str | None = None, *, least: int = 1) -> tuple[Pattern, ...]:
    """The patterns of these sessions (given the newest first), the widest spread first.

    `skill`: incidents that came after the agent had opened it. `least`: of sessions that show it.
    """
    groups: dict[tuple[Kind, str], _Group] = {}
    for record in sessions:
        for incident in of_skill(record, skill):
            group = groups.setdefault((incident.kind, incident.label), _Group())
            group.count += incident.count
            group.rows.append((record, incident))
    found = [_pattern(kind, label, group) for (kind, label), group in groups.items() if len(group.rows) >= least]
    return tuple(sorted(found, key=lambda one: (-one.sessions, KINDS.index(one.kind), -one.count, one.label)))


def of_skill(record: SessionRecord, skill: str | None) -> Sequence[Incident]:
    """A session's incidents, or those that came after the agent had opened the skill."""
    return [one for one in record.incidents if skill is None or skill in one.skills]


def _pattern(kind: Kind, label: str, group: _Group) -> Pattern:
    ends = [record.ended for record, _ in group.rows if record.ended is not None]
    return Pattern(
        kind=kind,
        label=label,
        sessions=len(group.rows),
        count=group.count,
        keys=tuple(sorted(record.key for record, _ in group.rows)),
        examples=tuple(Example(record.key, one.example, one.asked) for record, one in group.rows[:EXAMPLES]),
        last=max(ends, default=None),
    )
