"""ALFWorld's real engine: an episode says what the engine says when it is played directly, and honed's verbs play it.

Needs the extra `honed[alfworld]`. The games are honed's own, and the public ones where they are at hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli.app import build
from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.episodes.engines import missing
from daemon.tasks.episodes.household import load
from daemon.tasks.episodes.process import Bounds, GameProcess
from daemon.tasks.episodes.text_episode import text_episode
from daemon.tasks.published import PUBLISHED
from harnesses.episode import EpisodeError
from tests.support.alfworld_engine import Said, directly, endings, walkthrough
from tests.support.alfworld_games import make_games
from tests.support.episodes import SAMPLES, play_alone
from tests.support.tasks import real_data

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing("alfworld")), reason="the extra honed[alfworld] is not installed"),
]
PATIENT = Bounds(250.0, 250.0)
OWN = ("heat_mug", "look_at_watch", "put_two_books")
PUBLIC = (
    "valid_unseen/look_at_obj_in_light-AlarmClock-None-DeskLamp-308/trial_T20190908_222917_366542",
    "valid_unseen/pick_heat_then_place_in_recep-Apple-None-Fridge-10/trial_T20190906_182259_116320",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A data folder's games of honed's own, by name."""
    return make_games(tmp_path_factory.mktemp("data") / "alfworld" / "json_2.1.1" / "made")


def public(path: str) -> Path:
    return real_data(f"alfworld/json_2.1.1/{path}") / "game.tw-pddl"


@pytest.fixture(params=[*OWN, *PUBLIC], ids=lambda path: path.split("/")[-2] if "/" in path else path)
def game(request: pytest.FixtureRequest, made: Mapping[str, Path]) -> Path:
    return made[request.param] if request.param in made else public(request.param)


async def test_an_episode_says_what_the_engine_says(game: Path, tmp_path: Path) -> None:
    plays = endings(game)
    expected = dict(zip(plays, directly([(game, commands) for commands in plays.values()], tmp_path), strict=True))
    for ending, commands in plays.items():
        process = await GameProcess.start("alfworld", game, PATIENT)
        try:
            turns = [await process.reset(), *[await process.step(command) for command in commands]]
        finally:
            await process.close()
        assert [[turn.text, turn.won, turn.moves] for turn in turns] == expected[ending]
        assert [turn.won for turn in turns] == [False] * len(commands) + [ending == "won"]
    nothing = [(turn.text, turn.moves) for turn in (turns[1], turns[2], turns[6])]
    assert nothing == [("Nothing happens.", moves) for moves in (0, 0, 3)]
    assert turns[1].admissible


async def test_an_episode_is_won_by_its_walkthrough_and_then_over(game: Path) -> None:
    right = walkthrough(game)
    async with text_episode("alfworld", game, bounds=PATIENT) as episode:
        assert "Your task is to: " in episode.opening
        for command in ("fly", *right):
            assert not episode.status.over
            await episode.act(command)
        status = episode.status
        assert (status.won, status.over, status.commands, status.moves) == (True, True, len(right) + 1, len(right))
        assert not (await episode.act("look")).ok


async def test_an_episode_is_lost_at_the_bound_on_commands(made: Mapping[str, Path]) -> None:
    file = made[OWN[0]]
    right = walkthrough(file)
    async with text_episode("alfworld", file, max_commands=len(right), bounds=PATIENT) as episode:
        for command in ("fly", *right):
            await episode.act(command)
        status = episode.status
    assert (status.won, status.over, status.commands, status.moves) == (False, True, len(right), len(right) - 1)


async def test_the_simulated_player_understands_the_real_engine(game: Path) -> None:
    async with text_episode("alfworld", game, bounds=PATIENT) as episode:
        commands = await play_alone(episode)
        assert episode.status.won, commands


def test_honeds_own_engine_tells_what_the_real_one_tells(made: Mapping[str, Path], tmp_path: Path) -> None:
    """The same houses in both: all but the welcome, and the order in which things are named."""
    scripts = {name: endings(SAMPLES / name / "game.json") for name in sorted(made)}
    plays = {name: [*script["lost"], script["won"][-1]] for name, script in scripts.items()}
    real = directly([(made[name], commands) for name, commands in plays.items()], tmp_path)
    own = [_own(name, commands) for name, commands in plays.items()]
    assert [[_plain(turn) for turn in game] for game in own] == [[_plain(turn) for turn in game] for game in real]
    assert all(game[-1][1] for game in own)


def _own(name: str, commands: list[str]) -> Said:
    game = load(SAMPLES / name / "game.json")
    turns = [game.reset(), *[game.step(command) for command in commands]]
    return [[turn.text, turn.won, turn.moves] for turn in turns]


def _plain(turn: list[Any]) -> list[Any]:
    text = turn[0].partition("=-")[2] if turn[0].startswith("-=") else turn[0]
    return [sorted(text.replace(",", " ").replace(".", " ").split()), *turn[1:]]


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


def said(*words: str) -> dict[str, Any]:
    """The last line of a verb's output."""
    done = CliRunner().invoke(build(("bench", "tasks")), [*words, "--json"])
    assert done.exit_code == 0, done.output
    data: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return data


def test_bench_plays_own_games_with_a_chat_model(
    made: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = next(iter(made.values())).parents[5]
    data = said("bench", "alfworld", "--simulated", "--data", str(folder), "--skill", "initial", "--ratio", "1:1:6")
    assert (data["valid"], data["invalid"], data["score"]) == (6, {}, 1.0)


def test_bench_plays_public_games_with_a_chat_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_data("alfworld")
    monkeypatch.chdir(tmp_path)
    words = ("--simulated", "--data", str(real_data(".")), "--split", "selection", "--limit", "2")
    data = said("bench", "alfworld", *words)
    assert (data["valid"], data["invalid"], data["score"]) == (2, {}, 1.0)
    assert data["manifest"]["digest"] == PUBLISHED["ALFWorld"]


def test_own_games_are_proved_by_their_walkthrough(
    made: Mapping[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scorer = {"name": "episode_won", "engine": "alfworld", "game": "game.tw-pddl"}
    rows = []
    for name in OWN:
        (tmp_path / f"{name}.tw-pddl").write_bytes(made[name].read_bytes())
        tests = {"game.tw-pddl": f"{name}.tw-pddl"}
        rows.append({"id": name, "prompt": f"Do the task of {name}.", "tests": tests, "scorer": scorer})
    (tmp_path / "tasks.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    proofs = said("tasks", "check", "tasks.jsonl", "--no-run")["proofs"]
    assert [(one["verdict"], one["oracle"], one["nothing"]) for one in proofs] == [("proved", 1.0, 0.0)] * 3
