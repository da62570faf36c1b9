"""The `Harness` protocol: an `Assignment` goes in, an `Attempt` comes out; nothing is raised for a bad attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from harnesses.episode import EpisodeOpener, EpisodeStatus
from harnesses.outcome import Outcome
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected, EngineFacts, Limits, Root

ToolSet = Literal["files", "python"]
"""`files`: list, read and search the task's files; `python`: that, and run scripts on them in a sandbox."""
Activation = Literal["explicit", "discovered"]
"""`explicit`: the prompt invokes the skill, so its body always reaches the model; `discovered`: the agent decides."""


@dataclass(frozen=True)
class RenderedSkill:
    """A skill as it is laid into a workspace: a folder's files by relative POSIX path, `SKILL.md` among them."""

    name: str
    digest: str
    """`sha256:…` over sorted paths and bytes."""
    files: Mapping[str, bytes]

    @property
    def text(self) -> str:
        """SKILL.md as text."""
        return self.files["SKILL.md"].decode("utf-8")


@dataclass(frozen=True)
class ChatTools:
    """What a chat model may call while it works on a task; a CLI has tools of its own."""

    name: ToolSet
    turns: int = 24
    """Replies of the model at most; `Assignment.max_turns` bounds them too."""


@dataclass(frozen=True)
class Before:
    """An earlier run of an agent in whose workspace the next one starts. Hostile data, both of it."""

    folder: Path
    """That run's host folder: its workspace is taken from there as it is."""
    left: Collected
    """What of the workspace was collected."""


@dataclass(frozen=True)
class Assignment:
    """One task, or one step of a task, for one agent with one skill."""

    attempt_id: str
    task_id: str
    prompt: str
    folder: Path
    """The attempt's own host folder; exists, empty."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Laid into the workspace, beside SKILL.md."""
    skill: RenderedSkill | None = None
    """None: the agent works without a skill."""
    activation: Activation = "explicit"
    deadline_s: float = 600.0
    max_turns: int = 50
    provider_tools: frozenset[str] = frozenset()
    seed: int | None = None
    """Passed to providers that take one (chat)."""
    root: Root | None = None
    """The task's own image; None: the engine's. A chat model without scripts sees only `files`."""
    limits: Callable[[Limits], Limits] | None = None
    """What the task makes of the configured limits; None: nothing."""
    episode: EpisodeOpener | None = None
    """The world that the agent acts in, step by step; None: the task is its prompt and files."""
    tools: ChatTools | None = None
    """What a chat model may do with `files`; None: they are shown in its one request. Not together with `episode`."""
    before: Before | None = None
    """None: the workspace is new."""
    setup: str = ""
    """A script among the files that is run before the agent, from where the agent starts; empty: none."""

    @property
    def seen(self) -> Mapping[str, bytes]:
        """What is known to lie in the workspace when the agent starts, the skill as it is laid aside."""
        return {**self.before.left.files, **self.files} if self.before else self.files


@dataclass(frozen=True)
class Attempt:
    """What came of an assignment: data, also when it went wrong."""

    attempt_id: str
    outcome: Outcome
    detail: str
    """One line for people; empty when completed."""
    trace: Trace
    summary: str
    """The compact trace summary that the optimizer may read (`codex_trace_summary.txt` and the like)."""
    workspace: Collected
    usage: Usage
    wall_s: float
    versions: Mapping[str, str] = field(default_factory=dict)
    """CLI or SDK name to version."""
    engine: EngineFacts | None = None
    """None where no command was run: a chat model without scripts."""
    episode: EpisodeStatus | None = None
    """How the episode stood at the end; None: there was none, or it did not start."""


class Harness(Protocol):
    """A way to drive an agent."""

    @property
    def name(self) -> str:
        """One of `chat`, `codex`, `claude-code`."""

    def settings(self) -> Mapping[str, str]:
        """What decides the result besides skill and task (model, versions, activation, …): part of journal keys."""

    async def run(self, assignment: Assignment) -> Attempt:
        """Run one attempt to its end. Raises only `CancelledError`."""
