"""What the session files of agent CLIs come to: one shape for both, read turn by turn.

A turn is what a person asked and what the agent then did, up to the next thing the person said. A reader holds one
turn at a time, bounded like any trace, so a session of any length takes the same memory. Everything in it is hostile
data, like the rest of a trace.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from harnesses.traces.skill_sightings import Sighting
from harnesses.traces.text import shorten
from harnesses.traces.trace import Message, ToolCall, Trace

PROMPT_CHARS = 4_000
_MOST_SKILLS = 500
_MOST_FILES = 20
_MOST_DENIALS = 20
FILE_CHARS = 8_000
"""Of a file that is remembered with its content."""

Harness = Literal["claude-code", "codex"]
Ending = Literal["answered", "interrupted", "broken", "silent", "steered"]
"""How a turn ended: with the agent's words; stopped by the person; by a failure of the provider; with nothing said
after the last tool call; because the person spoke meanwhile."""


@dataclass(frozen=True)
class Turn:
    """What was asked, and what came of it."""

    prompt: str
    """Shortened to `PROMPT_CHARS`."""
    trace: Trace
    ending: Ending
    opened: tuple[str, ...] = ()
    """Skills whose body had reached the model by the end of the turn, in order."""
    denials: tuple[str, ...] = ()
    """What the person said to tool calls that they did not let through."""


@dataclass
class About:
    """What is known of the session so far."""

    harness: Harness
    session_id: str = ""
    model: str = ""
    folder: str = ""
    """The working directory."""
    started: float | None = None
    """Seconds since 1970, of the first and the last entry with a time."""
    ended: float | None = None
    root: bool = True
    """A person's own session, not a sub-agent's."""
    listed: dict[str, None] = field(default_factory=dict)
    """Names of the skills that the agent was told of."""
    opened: dict[str, Sighting] = field(default_factory=dict)
    """By name: whose body reached the model."""
    files: dict[str, str | None] = field(default_factory=dict)
    """What the agent read before it changed anything, by path; None: its content is not known whole."""

    def list_skills(self, names: list[str]) -> None:
        """The agent was told of these."""
        for name in names:
            if name and len(self.listed) < _MOST_SKILLS:
                self.listed.setdefault(name[:200])

    def open_skill(self, found: Sighting | None) -> None:
        """A skill's body reached the model; whoever knows more of it stands."""
        if found is None or (len(self.opened) >= _MOST_SKILLS and found.name not in self.opened):
            return
        known = self.opened.get(found.name)
        if known is None or (not known.digest and found.digest) or (not known.path and found.path):
            self.opened[found.name] = found

    def read_file(self, path: str, content: str | None) -> None:
        """The agent read a file; content that is known is kept."""
        if not path or len(path) > 500 or (path not in self.files and len(self.files) >= _MOST_FILES):
            return
        kept = content if content is not None and len(content) <= FILE_CHARS else None
        self.files.setdefault(path, kept)
        if self.files[path] is None and kept is not None:
            self.files[path] = kept

    def saw_time(self, text: str) -> None:
        """An entry's own time; what is no time is left alone."""
        try:
            when = datetime.fromisoformat(text).timestamp() if len(text) < 60 else None
        except (ValueError, OverflowError):
            return
        if when is not None and when > 0:
            self.started = when if self.started is None else min(self.started, when)
            self.ended = when if self.ended is None else max(self.ended, when)


class SessionReader(Protocol):
    """Reads one kind of session file, entry by entry."""

    about: About

    def entry(self, entry: dict[str, Any]) -> Turn | None:
        """One parsed line; gives the turn that it ended, if it ended one."""

    def end(self) -> Turn | None:
        """The file is over; gives the turn that was open."""


@dataclass
class OpenTurn:
    """The turn that is being read, as far as both readers keep it alike."""

    prompt: str
    interrupted: bool = False
    broken: bool = False
    denials: list[str] = field(default_factory=list)

    def deny(self, said: str) -> None:
        """The person refused a tool call."""
        if len(self.denials) < _MOST_DENIALS:
            self.denials.append(shorten(said, 500))

    def closed(self, trace: Trace, about: About, *, steered: bool = False) -> Turn:
        """It is over."""
        return Turn(
            prompt=self.prompt,
            trace=trace,
            ending=self._ending(trace, steered=steered),
            opened=tuple(about.opened),
            denials=tuple(self.denials),
        )

    def _ending(self, trace: Trace, *, steered: bool) -> Ending:
        if self.interrupted:
            return "interrupted"
        if self.broken:
            return "broken"
        spoken = [event for event in trace.events if isinstance(event, ToolCall) or _is_said(event)]
        if spoken and not isinstance(spoken[-1], ToolCall):
            return "answered"
        return "steered" if steered else "silent"


def _is_said(event: object) -> bool:
    return isinstance(event, Message) and event.role == "assistant"


def prompt_text(text: str) -> str:
    """A prompt as it is kept."""
    return shorten(text.strip(), PROMPT_CHARS)
