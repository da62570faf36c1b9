"""Games that a test plays, and how they are won."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.demo.household_player import next_command
from daemon.tasks.benchmarks.catalogue import benchmark
from harnesses.episode import Episode

SAMPLES = benchmark("alfworld").sample / "alfworld/household"
HEAT: dict[str, Any] = {
    "goal": {"kind": "heat", "told": "heat some mug and put it in drawer", "thing": "mug", "place": "drawer"},
    "places": [
        {"name": "drawer 1", "opens": True},
        {"name": "desk 1", "holds": ["mug 1", "pen 1"]},
        {"name": "microwave 1", "opens": True},
    ],
}
WINS = (
    "go to desk 1",
    "take mug 1 from desk 1",
    "go to microwave 1",
    "heat mug 1 with microwave 1",
    "go to drawer 1",
    "open drawer 1",
    "move mug 1 to drawer 1",
)


def put_game(folder: Path, game: object = HEAT) -> Path:
    """Write a game of the household engine."""
    file = folder / "game.json"
    file.write_text(json.dumps(game))
    return file


async def play(episode: Episode, commands: Sequence[str]) -> list[str]:
    """What each command came to."""
    return [(await episode.act(command)).text for command in commands]


async def play_alone(episode: Episode, limit: int = 60) -> list[str]:
    """The simulated player's commands until it is over, or it knows no more."""
    steps: list[tuple[str, str]] = []
    while not episode.status.over and len(steps) < limit:
        command = next_command(episode.opening, steps)
        if command is None:
            break
        steps.append((command, (await episode.act(command)).text))
    return [command for command, _ in steps]
