"""The `World` protocol: something outside the agent that answers what it does, one call at a time; `Episode` is a game.

Invariants: its state lives outside the sandbox and outside the model's context; an agent can only call its tools, which
are few and fixed; whether it was won is what the episode says, never what the agent says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol


class EpisodeError(Exception):
    """The world itself failed: the attempt is invalid, never a score. The message names what to check."""


@dataclass(frozen=True)
class Tool:
    """What an agent may call."""

    name: str
    """Matches `[a-z][a-z0-9_]{0,30}`."""
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The JSON schema of its arguments, an object."""


@dataclass(frozen=True)
class ToolResult:
    """What a call came to."""

    text: str
    """For the agent."""
    ok: bool = True
    """False: there is no such tool, or it cannot be called like this; the world is as it was."""


@dataclass(frozen=True)
class EpisodeStatus:
    """How an episode stands."""

    won: bool = False
    over: bool = False
    """Nothing can change any more: won, lost, or the bound on commands is reached."""
    commands: int = 0
    """Given so far, those that did nothing among them."""
    moves: int = 0
    """As the world counts them."""


class World(Protocol):
    """What a chat model acts in."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All that the agent may call."""

    @property
    def opening(self) -> str:
        """What the agent is told first."""

    @property
    def status(self) -> EpisodeStatus:
        """How it stands now."""

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """One call; raises `EpisodeError` if the world fails. After the end it answers that it is over."""


class Episode(World, Protocol):
    """One running game."""

    async def act(self, line: str) -> ToolResult:
        """The same as one line of text, as a command in a sandbox gives it."""


WorldOpener = Callable[[], AbstractAsyncContextManager[World]]
"""Opens a world, and ends it for good on leaving; entering raises `EpisodeError`."""
EpisodeOpener = Callable[[], AbstractAsyncContextManager[Episode]]
"""Starts a fresh episode, and ends it for good on leaving; entering raises `EpisodeError`."""
