"""A harness for tests of what stands above: a function of the test says what came of each assignment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any

from harnesses.episode import Episode, EpisodeError, EpisodeStatus, Tool, ToolResult
from harnesses.harness import Assignment, Attempt
from harnesses.keep import told_skill, write_summary
from harnesses.outcome import Outcome
from harnesses.traces.summary import summarize
from harnesses.traces.trace import Event, Message, Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected


@dataclass(frozen=True)
class FakeResult:
    """What the behaviour says: an answer, files that the agent leaves, or a failure."""

    answer: str = "done"
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Laid over the assignment's own files in the collected workspace."""
    outcome: Outcome = Outcome.COMPLETED
    detail: str = ""
    events: tuple[Event, ...] = ()
    usage: Usage = field(default_factory=lambda: Usage(1, 1000, 200, 50, 0.001))
    skill_opened: bool = True


Behaviour = Callable[[Assignment], "FakeResult | str | Awaitable[FakeResult | str]"]


class FakeHarness:
    """A `Harness` without a model. `assignments` keeps every one it was given, in order."""

    def __init__(self, behaviour: Behaviour, *, name: str = "chat", settings: Mapping[str, str] | None = None) -> None:
        self._behaviour = behaviour
        self._name = name
        self._settings = dict(settings or {"harness": name, "model": "fake"})
        self.assignments: list[Assignment] = []

    @property
    def name(self) -> str:
        """As `Harness.name`."""
        return self._name

    def settings(self) -> Mapping[str, str]:
        """As `Harness.settings`."""
        return dict(self._settings)

    async def run(self, assignment: Assignment) -> Attempt:
        """As `Harness.run`, except that a behaviour's own exception is a fault of the test and goes through."""
        self.assignments.append(assignment)
        said = self._behaviour(assignment)
        if isawaitable(said):
            said = await said
        result = FakeResult(said) if isinstance(said, str) else said
        completed = result.outcome is Outcome.COMPLETED
        answer = result.answer if completed else ""
        trace = Trace(
            events=result.events or ((Message(answer),) if answer else ()),
            final_answer=answer,
            usage=result.usage,
            turns=1,
            model="fake",
            skill_listed=None if assignment.skill is None else True,
            skill_opened=assignment.skill is not None and result.skill_opened,
            finished=completed,
            stop_reason="end" if completed else result.outcome.value,
        )
        summary = summarize(trace, outcome=result.outcome.value, harness=self._name, skill=told_skill(assignment.skill))
        write_summary(assignment.folder, self._name, summary)
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=result.outcome,
            detail=result.detail,
            trace=trace,
            summary=summary,
            workspace=Collected(dict(sorted({**assignment.seen, **result.files}.items()))),
            usage=result.usage,
            wall_s=0.01,
            versions={"fake": "0"},
        )


class FakeEpisode:
    """An `Episode` without a game: won by the right commands in their order, whatever comes between them."""

    def __init__(self, wins_by: Sequence[str] = ("win",), *, max_commands: int = 50, breaks_at: int = 0) -> None:
        self._wins_by = list(wins_by)
        self._max_commands = max_commands
        self._breaks_at = breaks_at
        self.commands: list[str] = []
        self.closed = False

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As `Episode.tools`."""
        schema = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        return (Tool("act", "Give one command.", schema),)

    @property
    def opening(self) -> str:
        """As `Episode.opening`."""
        return "You are in a room."

    @property
    def status(self) -> EpisodeStatus:
        """As `Episode.status`."""
        count, won = len(self.commands), not self._wins_by
        return EpisodeStatus(won=won, over=won or count >= self._max_commands, commands=count, moves=count)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """As `Episode.call`."""
        command = arguments.get("command")
        if tool != "act" or not isinstance(command, str):
            return ToolResult("use act with a command", ok=False)
        return await self.act(command)

    async def act(self, line: str) -> ToolResult:
        """As `Episode.act`."""
        if self.status.over:
            return ToolResult("it is over", ok=False)
        if len(self.commands) + 1 == self._breaks_at:
            raise EpisodeError("the game's process ended")
        self.commands.append(line)
        if self._wins_by and line == self._wins_by[0]:
            self._wins_by.pop(0)
        return ToolResult("You have won." if self.status.won else f"You did: {line}")

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Episode]:
        """An `EpisodeOpener`."""
        try:
            yield self
        finally:
            self.closed = True
