"""What is kept of one session: bounded, scrubbed, and enough to tell what went wrong with which skill.

Invariant: no text is in it that did not pass `daemon.scrubbing` first. The session itself is not kept.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from harnesses.traces.session import Harness

Kind = Literal["error", "correction", "repeated", "abandoned"]
KINDS: tuple[Kind, ...] = ("correction", "abandoned", "repeated", "error")
"""What can go wrong in a session, the most telling first: tool calls that failed, corrections by the person, the same
call again and again, turns given up."""

MOST_INCIDENTS = 40
MOST_SKILLS = 200
EXAMPLE_CHARS = 400
ASKED_CHARS = 1_500
LABEL_CHARS = 120


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SkillSeen(_Kept):
    """A skill in one session."""

    name: str
    listed: bool
    opened: bool
    path: str = ""
    digest: str = ""
    """Of the body that the agent got (`body_digest`); empty: not told."""


class Incident(_Kept):
    """One thing that went wrong, however often in the session."""

    kind: Kind
    label: str
    """What it is called: the same for the same thing in any session."""
    count: int = 1
    turn: int = 1
    """Of the first time, from 1."""
    example: str = ""
    """In the session's words, shortened."""
    asked: str = ""
    """What the person had asked for when it happened, shortened."""
    skills: tuple[str, ...] = ()
    """Skills that the agent had opened by then."""


class KnownFile(_Kept):
    """A file that the agent read before it changed anything."""

    path: str
    """Relative to the session's folder where it lies below that."""
    content: str | None = None
    """None: not known whole."""


class SessionRecord(_Kept):
    """One session."""

    key: str
    """Sixteen hex digits: the same for every copy and every length of the session."""
    harness: Harness
    session_id: str = ""
    digest: str = ""
    """`sha256:` of the file as it was read."""
    size: int = 0
    """Bytes of it."""
    source: str = ""
    """The file's name."""
    folder: str = ""
    model: str = ""
    started: float | None = None
    ended: float | None = None
    """Seconds since 1970 by the session's own clock."""
    settled: bool = True
    """It had been left alone for a while when it was read: its last turn counts."""
    turns: int = 0
    calls: int = 0
    bad_lines: int = 0
    skills: tuple[SkillSeen, ...] = ()
    incidents: tuple[Incident, ...] = ()
    asked: str = ""
    """What the person asked first, shortened."""
    files: tuple[KnownFile, ...] = ()

    def skill(self, name: str) -> SkillSeen | None:
        """The skill as it was in this session; None if it was not there."""
        return next((one for one in self.skills if one.name == name), None)
