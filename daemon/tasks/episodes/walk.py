"""What a task's game comes to where nobody plays it, and where its own walkthrough is followed.

The walkthrough is a part of the game's file, as both engines write it: commands that win. Each is given as an agent's
would be, so that a game which takes more commands than the task allows is not won.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from daemon.tasks.episodes.opening import episode_of
from daemon.tasks.episodes.process import GameError
from daemon.tasks.scorers.episode import EPISODE_WON
from daemon.tasks.task import Task
from harnesses.episode import EpisodeStatus


class _Solved(BaseModel):
    walkthrough: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Walk:
    """How the game stood."""

    start: EpisodeStatus
    """Before any command."""
    end: EpisodeStatus | None
    """After the walkthrough; None where the game has none."""


async def walk(task: Task) -> Walk | None:
    """Play it; None for a task that has no game. Raises `EpisodeError`, and `GameError` where the game is to blame."""
    opener = episode_of(task)
    if opener is None:
        return None
    game = str(EPISODE_WON.parse(dict(task.scorer.options)).game)
    commands = await asyncio.to_thread(_walkthrough, task.tests[game])
    async with opener() as episode:
        start = episode.status
        for command in commands:
            await episode.act(command)
        return Walk(start, episode.status if commands else None)


def _walkthrough(file: Path) -> tuple[str, ...]:
    try:
        return _Solved.model_validate_json(file.read_bytes()).walkthrough or ()
    except ValidationError as error:
        raise GameError(f"{file.name} holds no walkthrough that can be read: {error.errors()[0]['msg']}") from error
