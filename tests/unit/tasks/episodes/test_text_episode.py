"""An episode over a game: what an agent can do with it, and what it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.tasks.episodes.opening import episode_of
from daemon.tasks.episodes.text_episode import OVER, text_episode
from daemon.tasks.scorers.registry import check_scorer, score_task
from daemon.tasks.scorers.scorer import Result, VerifierError
from daemon.tasks.task import TaskError
from harnesses.episode import EpisodeError, EpisodeStatus
from tests.support.episodes import SAMPLES, WINS, play, play_alone, put_game
from tests.support.tasks import task_for


async def test_a_won_game_stays_won(tmp_path: Path) -> None:
    async with text_episode("household", put_game(tmp_path)) as episode:
        assert "Your task is to" in episode.opening
        told = await play(episode, WINS)
        assert told[-1].endswith("The task is done: the game is won.")
        won = episode.status
        assert won == EpisodeStatus(won=True, over=True, commands=7, moves=7)
        late = await episode.act("take mug 1 from drawer 1")
        assert (late.text, late.ok, episode.status) == (OVER, False, won)


async def test_commands_are_bounded_and_useless_ones_count(tmp_path: Path) -> None:
    async with text_episode("household", put_game(tmp_path), max_commands=3) as episode:
        told = await play(episode, ("fly", "look", "fly"))
        assert told[-1] == "Nothing happens.\n\nThe game is over: the task was not done."
        assert episode.status == EpisodeStatus(won=False, over=True, commands=3, moves=1)
        assert await play(episode, ("look",)) == [OVER]


@pytest.mark.parametrize("line", ["", "  \n ", "x" * 501, "go to\x07 desk 1", "go to desk\u202e 1"])
async def test_what_is_no_command_is_not_given_to_the_game(tmp_path: Path, line: str) -> None:
    async with text_episode("household", put_game(tmp_path)) as episode:
        assert not (await episode.act(line)).ok
        assert episode.status.commands == 0


async def test_there_is_one_tool_and_it_takes_one_text(tmp_path: Path) -> None:
    async with text_episode("household", put_game(tmp_path)) as episode:
        assert [tool.name for tool in episode.tools] == ["act"]
        for tool, arguments in (
            ("reset", {}),
            ("act", {}),
            ("act", {"command": 1}),
            ("act", {"command": "look", "op": "reset"}),
        ):
            assert not (await episode.call(tool, arguments)).ok
        assert (await episode.call("act", {"command": "go  to\ndesk 1"})).text.startswith("You arrive at desk 1.")
        assert episode.status.commands == 1


async def test_commands_at_the_same_time_are_done_one_by_one(tmp_path: Path) -> None:
    async with text_episode("household", put_game(tmp_path), max_commands=5) as episode:
        told = await asyncio.gather(*(episode.act("inventory") for _ in range(9)))
        assert [one.ok for one in told] == [True] * 5 + [False] * 4


async def test_a_file_that_is_no_game_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match="the game failed"):
        async with text_episode("household", put_game(tmp_path, [])):
            pytest.fail("it opened")


@pytest.mark.parametrize("name", [folder.name for folder in sorted(SAMPLES.iterdir())])
async def test_the_simulated_player_wins_every_sample(name: str) -> None:
    async with text_episode("household", SAMPLES / name / "game.json") as episode:
        commands = await play_alone(episode)
        assert episode.status.won, commands


async def test_a_task_s_scorer_says_which_game_and_how_many_commands(tmp_path: Path) -> None:
    options = {"engine": "household", "game": "g", "max_commands": 2}
    task = task_for("episode_won", options=options, tests={"g": put_game(tmp_path)})
    opener = episode_of(task)
    assert opener is not None
    async with opener() as episode:
        await play(episode, ("look", "look"))
        assert episode.status.over
    score = await score_task(task, Result("I won!", episode=episode.status))
    assert (score.value, score.feedback) == (0.0, "the game was not won within its 2 commands")
    assert score.detail == {"won": False, "commands": 2, "moves": 2}
    assert episode_of(task_for("exact_match", "x")) is None


async def test_an_attempt_without_its_game_is_invalid(tmp_path: Path) -> None:
    task = task_for("episode_won", options={"engine": "household", "game": "g"}, tests={"g": put_game(tmp_path)})
    with pytest.raises(VerifierError, match="was not played"):
        await score_task(task, Result("The task is done: the game is won."))


def test_a_game_that_is_no_test_file_or_needs_an_extra_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TaskError, match="none of the task's tests"):
        check_scorer(task_for("episode_won", options={"engine": "household", "game": "other"}))
    monkeypatch.setattr("daemon.tasks.episodes.engines.find_spec", lambda name: None)
    task = task_for("episode_won", options={"engine": "alfworld", "game": "g"}, tests={"g": put_game(tmp_path)})
    with pytest.raises(TaskError, match=r"pip install 'honed\[alfworld\]'"):
        check_scorer(task)
