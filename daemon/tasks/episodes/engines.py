"""What a game engine is to the worker process, and the engines there are."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol

EngineName = Literal["alfworld", "household"]
ENGINES: dict[EngineName, str] = {
    "alfworld": "daemon.tasks.episodes.alfworld_engine",
    "household": "daemon.tasks.episodes.household",
}
"""Engine to the module whose `load(file)` gives a `Game`."""
GAME_FILES: dict[EngineName, str] = {"alfworld": "game.tw-pddl", "household": "game.json"}
MISSING = "needs further packages, and C and C++ compilers to build them: pip install 'honed[alfworld]'"


@dataclass(frozen=True)
class Turn:
    """What a game says after its start or one command."""

    text: str
    won: bool = False
    done: bool = False
    """The engine takes no further command."""
    moves: int = 0
    """As the engine counts them: a command that did nothing is none."""
    admissible: tuple[str, ...] = ()
    """Every command that would do something now."""


class Game(Protocol):
    """One game, being played."""

    def reset(self) -> Turn:
        """From the start."""

    def step(self, command: str) -> Turn:
        """One command."""


def load(engine: str, file: Path) -> Game:
    """A game; raises whatever the engine raises for a file that is none."""
    module = importlib.import_module(ENGINES[engine])  # type: ignore[index]
    game: Game = module.load(file)
    return game


def missing(engine: EngineName) -> str:
    """What to install for the engine; empty if it is here."""
    if engine == "alfworld" and (find_spec("alfworld") is None or find_spec("textworld") is None):
        return MISSING
    return ""
