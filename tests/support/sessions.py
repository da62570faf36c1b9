"""Session files as people's CLIs write them, made line by line; and the recorded ones."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daemon.inbox.record import Incident, Kind, SessionRecord, SkillSeen
from harnesses.traces.session import Turn
from harnesses.traces.trace import Message, ToolCall, Trace

RECORDED = Path(__file__).parent.parent / "golden" / "sessions"
SKILL = "tidy-tables"
BODY = "# Tidy tables\nLook at the header first.\n"
AGO_S = 7_200.0
"""So long ago the sessions that are written here ended."""
NOON = 1_795_000_000.0
"""About when the records made here are from, seconds since 1970."""


@dataclass
class Session:
    """A Claude Code session in the making."""

    session_id: str = "11111111-aaaa-4bbb-8ccc-000000000001"
    folder: str = "/home/joe/app"
    entries: list[dict[str, Any]] = field(default_factory=list)
    _calls: int = 0

    def listed(self, *names: str) -> Session:
        """The agent is told of skills."""
        return self._add("attachment", attachment={"type": "skill_listing", "names": list(names or (SKILL,))})

    def said(self, text: str) -> Session:
        """The person speaks."""
        return self._add("user", message={"role": "user", "content": text})

    def opened(self, name: str = SKILL, body: str = BODY) -> Session:
        """A skill's body is handed over."""
        text = f"Base directory for this skill: {self.folder}/.claude/skills/{name}\n\n{body}"
        return self._add("user", message={"role": "user", "content": text}, isMeta=True)

    def answered(self, text: str = "Done.") -> Session:
        """The agent speaks."""
        return self._assistant({"type": "text", "text": text})

    def called(self, command: str, output: str = "", code: int = 0) -> Session:
        """A shell command and its result."""
        return self.used("Bash", f"Exit code {code}\n{output}" if code else output, failed=bool(code), command=command)

    def used(self, tool: str, output: str, *, failed: bool = False, structured: Any = None, **given: Any) -> Session:
        """Any tool and its result."""
        self._calls += 1
        key = f"toolu_{self._calls}"
        self._assistant({"type": "tool_use", "id": key, "name": tool, "input": given})
        block = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": failed}
        return self._add("user", message={"role": "user", "content": [block]}, toolUseResult=structured)

    def stopped(self) -> Session:
        """The person stops the agent."""
        return self._add("user", message={"content": [{"type": "text", "text": "[Request interrupted by user]"}]})

    def text(self) -> str:
        """The file."""
        return "".join(json.dumps(entry) + "\n" for entry in self.entries)

    def write(self, path: Path) -> Path:
        """Leave it at a path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), encoding="utf-8")
        ago = time.time() - AGO_S
        os.utime(path, (ago, ago))
        return path

    def _assistant(self, block: dict[str, Any]) -> Session:
        message = {"id": f"msg_{len(self.entries)}", "model": "claude-x", "role": "assistant", "content": [block]}
        return self._add("assistant", message=message)

    def _add(self, kind: str, **more: Any) -> Session:
        moment = datetime.fromtimestamp(time.time() - AGO_S - 60 + len(self.entries) / 1_000, UTC)
        when = moment.isoformat().replace("+00:00", "Z")
        shared = {"type": kind, "uuid": f"u{len(self.entries)}", "sessionId": self.session_id, "cwd": self.folder}
        self.entries.append({**shared, "timestamp": when, "isSidechain": False, **more})
        return self


def troubled(number: int = 1) -> Session:
    """A session in which the skill was opened and the person had to correct the agent."""
    session = Session(f"{number:08}-aaaa-4bbb-8ccc-000000000001").listed(SKILL, "other")
    session.said(f"Tidy table {number} please, and keep the header").opened()
    session.called("python3 tidy.py", "Traceback\nKeyError: 'id'", 1).answered("The header is gone now.")
    return session.said("No, that is wrong: the header must stay").called("python3 tidy.py", "ok").answered()


def turn(prompt: str = "Do it", *events: ToolCall | Message, ending: Any = "answered", **more: Any) -> Turn:
    """One turn."""
    return Turn(prompt, Trace(events=events or (Message("Done"),)), ending, **more)


def call(
    given: str, output: str = "", *, ok: bool | None = True, code: int | None = None, tool: str = "Bash"
) -> ToolCall:
    """One tool call."""
    return ToolCall(tool, given, output, ok, code if code is not None or ok is None else (0 if ok else 1))


def incident(kind: Kind = "correction", label: str = "contradicted", **more: Any) -> Incident:
    """One incident after the skill was opened."""
    return Incident(**{"kind": kind, "label": label, "example": "No", "asked": "Tidy", "skills": (SKILL,), **more})


def record(
    number: int, *incidents: Incident, opened: bool = True, skills: Sequence[str] = (SKILL,), **more: Any
) -> SessionRecord:
    """What is kept of a session."""
    seen = tuple(SkillSeen(name=name, listed=True, opened=opened) for name in skills)
    given = {"session_id": f"session-{number}", "size": 10, "ended": NOON - number, "turns": 1, "skills": seen, **more}
    return SessionRecord(**{"key": f"{number:016x}", "harness": "claude-code", "incidents": incidents, **given})
