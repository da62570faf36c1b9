"""ALFWorld's engine played directly, without a line of honed's: what an episode is held against."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Said = list[list[Any]]
"""Observation, won and moves, after the start and after each command."""
_SCRIPT = """
import json, os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
from textworld.envs import PddlEnv
said = []
for file, commands in json.loads(sys.stdin.read()):
    env = AlfredInfos(AlfredDemangler()(PddlEnv(textworld.EnvInfos(feedback=True, won=True, moves=True))))
    env.load(file)
    states = [env.reset(), *[env.step(command)[0] for command in commands]]
    said.append([[state["feedback"].strip(), bool(state["won"]), state["moves"]] for state in states])
json.dump(said, out)
"""


def walkthrough(file: Path) -> list[str]:
    """The commands that win, as the game's file has them."""
    steps: list[str] = json.loads(file.read_bytes())["walkthrough"]
    return steps


def endings(file: Path) -> dict[str, list[str]]:
    """Commands that win the game, and some that do not: unknown ones, out of place ones, and all but the last right."""
    right = walkthrough(file)
    lost = ["fly", right[1], "inventory", "look", right[0], "take moon 1 from sky 1", *right[1:-1], "inventory", "look"]
    return {"won": right, "lost": lost}


def directly(plays: Sequence[tuple[Path, Sequence[str]]], folder: Path) -> list[Said]:
    """What each play comes to, all in one process of its own that runs in `folder`."""
    told = json.dumps([[str(file), list(commands)] for file, commands in plays])
    argv = (sys.executable, "-c", _SCRIPT)
    done = subprocess.run(argv, cwd=folder, input=told, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said: list[Said] = json.loads(done.stdout)
    return said
