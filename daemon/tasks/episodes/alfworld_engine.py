"""ALFWorld's own engine: TextWorld with the PDDL planner, through the object names that its paper uses.

Runs in the worker process alone: the engine is not safe with threads, keeps about 4.5 MB of every game, replaces
`sys.argv` and prints while it loads. The game's file holds all: `traj_data.json` beside it is not needed.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from daemon.tasks.episodes.engines import Game, Turn


class AlfworldGame:
    """A `Game` over `textworld.envs.PddlEnv`."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment

    def reset(self) -> Turn:
        """As `Game.reset`."""
        return _turn(self._environment.reset())

    def step(self, command: str) -> Turn:
        """As `Game.step`."""
        state, _, done = self._environment.step(command)
        return _turn(state, done=bool(done))


def load(file: Path) -> Game:
    """A game of ALFWorld's (`game.tw-pddl`)."""
    # Not imported above: an extra, without types, and seconds of work.
    textworld: Any = import_module("textworld")
    wrappers: Any = import_module("alfworld.agents.environment.alfred_tw_env")
    environment: Any = import_module("textworld.envs").PddlEnv
    infos = textworld.EnvInfos(feedback=True, won=True, moves=True, admissible_commands=True)
    game = wrappers.AlfredInfos(wrappers.AlfredDemangler()(environment(infos)))
    game.load(str(file))
    return AlfworldGame(game)


def _turn(state: Any, *, done: bool = False) -> Turn:
    won = bool(state.get("won"))
    return Turn(
        text=str(state.get("feedback") or "").strip(),
        won=won,
        done=done or won,
        moves=int(state.get("moves") or 0),
        admissible=tuple(sorted(map(str, state.get("admissible_commands") or ()))),
    )
