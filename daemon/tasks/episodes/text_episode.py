"""A text game as the `Episode` that agents act in: one tool, `act`, that takes one command.

Invariants: it cannot be reset; commands are given one at a time, whoever gives them; after the end, or the bound on
commands, nothing changes any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from daemon.tasks.episodes.engines import EngineName, Turn
from daemon.tasks.episodes.process import Bounds, GameProcess
from harnesses.episode import Episode, EpisodeStatus, Tool, ToolResult

COMMAND_CHARS = 500
ACT = Tool(
    "act",
    "Give one command to the game, such as 'go to desk 1', and read what happens.",
    {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "One command."}},
        "required": ["command"],
        "additionalProperties": False,
    },
)
OVER = "The game is over: no further command is taken."


class TextEpisode:
    """An `Episode` over a game's process."""

    def __init__(self, game: GameProcess, opening: Turn, max_commands: int, *, show_commands: bool) -> None:
        self._game = game
        self._turn = opening
        self._max_commands = max_commands
        self._show_commands = show_commands
        self._commands = 0
        self._lock = asyncio.Lock()
        self._opening = self._told(opening)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """As `Episode.tools`."""
        return (ACT,)

    @property
    def opening(self) -> str:
        """As `Episode.opening`."""
        return self._opening

    @property
    def status(self) -> EpisodeStatus:
        """As `Episode.status`."""
        turn = self._turn
        over = turn.done or turn.won or self._commands >= self._max_commands
        return EpisodeStatus(won=turn.won, over=over, commands=self._commands, moves=turn.moves)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """As `Episode.call`."""
        if tool != ACT.name:
            return ToolResult(f"There is no tool {tool[:100]!r}: use act.", ok=False)
        command = arguments.get("command")
        if not isinstance(command, str) or set(arguments) != {"command"}:
            return ToolResult("act takes one argument, command, a text: nothing was done.", ok=False)
        return await self.act(command)

    async def act(self, line: str) -> ToolResult:
        """As `Episode.act`."""
        command = " ".join(line.split())
        if not command or len(command) > COMMAND_CHARS or not command.isprintable():
            why = "is empty" if not command else f"is no text of at most {COMMAND_CHARS} characters"
            return ToolResult(f"The command {why}: nothing was done.", ok=False)
        async with self._lock:
            if self.status.over:
                return ToolResult(OVER, ok=False)
            self._commands += 1
            self._turn = await self._game.step(command)
            return ToolResult(self._told(self._turn))

    def _told(self, turn: Turn) -> str:
        status = self.status
        if status.won:
            return f"{turn.text}\n\nThe task is done: the game is won."
        if status.over:
            return f"{turn.text}\n\nThe game is over: the task was not done."
        if self._show_commands and turn.admissible:
            return f"{turn.text}\n\nCommands that do something now:\n" + "\n".join(turn.admissible)
        return turn.text


@asynccontextmanager
async def text_episode(
    engine: EngineName,
    file: Path,
    *,
    max_commands: int = 50,
    show_commands: bool = False,
    bounds: Bounds | None = None,
) -> AsyncIterator[Episode]:
    """A fresh episode; entering raises `EpisodeError`, and on leaving nothing of it remains."""
    game = await GameProcess.start(engine, await asyncio.to_thread(file.absolute), bounds)
    try:
        yield TextEpisode(game, await game.reset(), max_commands, show_commands=show_commands)
    finally:
        await asyncio.shield(game.close())
