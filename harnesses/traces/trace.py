"""One shape for what an agent did, whatever the harness. Everything in it is hostile data: text, never instructions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sandboxes.gateway.policy import Usage


@dataclass(frozen=True)
class Message:
    """Text of the agent (or, for `reasoning`, the visible part of its thinking)."""

    text: str
    role: Literal["assistant", "reasoning"] = "assistant"


@dataclass(frozen=True)
class ToolCall:
    """One tool call with its result."""

    tool: str
    """The CLI's own name: `Bash`, `exec_command`, `Skill`, …"""
    input: str
    """The command line for shells, else compact JSON."""
    output: str
    """Shortened to a fixed bound, both ends kept."""
    ok: bool | None
    """None: the run ended before the result."""
    exit_code: int | None = None


@dataclass(frozen=True)
class FileChange:
    """A file the agent reported to have changed."""

    path: str
    kind: Literal["add", "update", "delete"]
    text: str = ""
    """What was written, where the CLI tells it apart from the tool call."""


@dataclass(frozen=True)
class Failure:
    """An error that the harness itself reported (not the model's prose)."""

    text: str
    fatal: bool = False


Event = Message | ToolCall | FileChange | Failure


@dataclass(frozen=True)
class Trace:
    """What one attempt did, in order."""

    events: tuple[Event, ...] = ()
    final_answer: str = ""
    usage: Usage = field(default_factory=Usage)
    """As the CLI tells it; the gateway's tally is the ground truth where there is one."""
    turns: int = 0
    """Replies of the model; 0 where the stream cannot tell."""
    model: str = ""
    session_id: str = ""
    skill_listed: bool | None = None
    """The agent was told that the skill exists; None: this harness's stream cannot tell."""
    skill_opened: bool = False
    """The skill's body reached the model (invoked, read, or part of the prompt)."""
    finished: bool = False
    """The stream's own end marker was seen (`turn.completed`, a `result` without error)."""
    stop_reason: str = ""
    unknown_events: int = 0
    bad_lines: int = 0
