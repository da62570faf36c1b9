"""Real ALFWorld games on the real engine: an episode says what the engine says when it is played directly.

Needs the extra `honed[alfworld]` and the games, where they are at hand.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.episodes.engines import missing
from daemon.tasks.episodes.process import Bounds, GameProcess
from daemon.tasks.episodes.text_episode import text_episode
from daemon.tasks.published import PUBLISHED
from harnesses.episode import EpisodeError
from tests.support.episodes import play_alone
from tests.support.tasks import real_data

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("alfworld")), reason="the extra honed[alfworld] is not installed"),
]
PATIENT = Bounds(250.0, 250.0)
GAMES = (
    "tiny/look_at_obj_in_light-Mug-None-Desk-1/trial_T00000000_000000_000001",
    "tiny/pick_two_obj_and_place-Mug-None-Desk-1/trial_T00000000_000000_000001",
    "json_2.1.1/valid_unseen/look_at_obj_in_light-AlarmClock-None-DeskLamp-308/trial_T20190908_222917_366542",
)
DIRECT = """
import json, os, sys
file, commands = sys.argv[1], json.loads(sys.argv[2])
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
import textworld
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos
from textworld.envs import PddlEnv
infos = textworld.EnvInfos(feedback=True, won=True, moves=True)
env = AlfredInfos(AlfredDemangler()(PddlEnv(infos)))
env.load(file)
states = [env.reset()]
for command in commands:
    states.append(env.step(command)[0])
json.dump([[s["feedback"].strip(), bool(s["won"]), s["moves"]] for s in states], out)
"""


def game(path: str) -> Path:
    return real_data(f"alfworld/{path}") / "game.tw-pddl"


def walkthrough(file: Path) -> list[str]:
    steps: list[str] = json.loads(file.read_bytes())["walkthrough"]
    return steps


def directly(file: Path, commands: Sequence[str], folder: Path) -> list[list[Any]]:
    """Observation, won and moves after the start and after each command, by the engine alone."""
    argv = (sys.executable, "-c", DIRECT, str(file), json.dumps(commands))
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    said: list[list[Any]] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.split("/")[-2])
@pytest.mark.parametrize("ending", ["won", "lost"])
async def test_an_episode_says_what_the_engine_says(path: str, ending: str, tmp_path: Path) -> None:
    file = game(path)
    right = walkthrough(file)
    commands = right if ending == "won" else ["fly", right[0], "take moon 1 from sky 1", *right[1:-1], "look"]
    expected = directly(file, commands, tmp_path)
    process = await GameProcess.start("alfworld", file, PATIENT)
    try:
        turns = [await process.reset(), *[await process.step(command) for command in commands]]
    finally:
        await process.close()
    assert [[turn.text, turn.won, turn.moves] for turn in turns] == expected
    assert turns[-1].won is (ending == "won")
    if ending == "lost":
        assert turns[1].text == turns[3].text == "Nothing happens."
        assert (turns[1].moves, turns[3].moves) == (0, 1)
        assert turns[2].admissible


async def test_an_episode_is_won_by_its_walkthrough_and_then_over() -> None:
    file = game(GAMES[0])
    async with text_episode("alfworld", file, bounds=PATIENT) as episode:
        assert "Your task is to: look at mug under the desklamp." in episode.opening
        for command in walkthrough(file):
            assert not episode.status.over
            await episode.act(command)
        assert (episode.status.won, episode.status.over) == (True, True)
        assert not (await episode.act("look")).ok


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.split("/")[-2])
async def test_the_simulated_player_understands_the_real_engine(path: str) -> None:
    async with text_episode("alfworld", game(path), bounds=PATIENT) as episode:
        commands = await play_alone(episode)
        assert episode.status.won, commands


async def test_a_file_that_is_no_game_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "game.tw-pddl"
    file.write_text("{}")
    with pytest.raises(EpisodeError, match="the game failed"):
        async with text_episode("alfworld", file, bounds=PATIENT):
            pytest.fail("it opened")


def test_every_game_of_the_published_lists_is_a_task() -> None:
    real_data("alfworld")
    found = open_bench(benchmark("alfworld"), real_data("."))
    assert (found.manifest.how, found.manifest.digest) == ("published", PUBLISHED["ALFWorld"])
    assert tuple(found.tasks.sizes().values()) == (39, 18, 134)
    assert found.left_out == ()
