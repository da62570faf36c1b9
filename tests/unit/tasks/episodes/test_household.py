"""The small household engine: what each command does, what does nothing, and what wins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.episodes.engines import load
from daemon.tasks.episodes.household import NOTHING
from tests.support.episodes import HEAT, SAMPLES, WINS, put_game


def ended(folder: Path, *commands: str, game: object = HEAT) -> list[Any]:
    played = load("household", put_game(folder, game))
    return [played.reset(), *(played.step(command) for command in commands)]


def test_the_opening_names_places_and_task(tmp_path: Path) -> None:
    [turn] = ended(tmp_path)
    assert "you see a desk 1, a drawer 1, and a microwave 1." in turn.text
    assert turn.text.endswith("Your task is to: heat some mug and put it in drawer.")
    assert (turn.won, turn.done, turn.moves) == (False, False, 0)


def test_the_right_commands_win_and_each_is_a_move(tmp_path: Path) -> None:
    turns = ended(tmp_path, *WINS)
    assert [turn.won for turn in turns] == [False] * 7 + [True]
    assert (turns[-1].done, turns[-1].moves) == (True, 7)
    assert turns[1].text == "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1."
    assert turns[6].text == "You open the drawer 1. The drawer 1 is open. In it, you see nothing."


@pytest.mark.parametrize("left_out", range(7))
def test_no_command_can_be_left_out(tmp_path: Path, left_out: int) -> None:
    commands = [command for number, command in enumerate(WINS) if number != left_out]
    assert not any(turn.won for turn in ended(tmp_path, *commands))


@pytest.mark.parametrize(
    "command",
    ["fly", "", "go to moon 1", "take mug 1 from desk 1", "open desk 1", "use desk 1", "GO TO desk 1", "move mug 1 to",
     "heat mug 1 with microwave 1", "close drawer 1", "examine mug 1"],
)  # fmt: skip
def test_what_cannot_be_done_does_nothing_and_is_no_move(tmp_path: Path, command: str) -> None:
    turn = ended(tmp_path, command)[-1]
    assert (turn.text, turn.moves) == (NOTHING, 0)


def test_only_one_thing_is_carried_and_a_closed_place_takes_nothing(tmp_path: Path) -> None:
    turns = ended(
        tmp_path, *WINS[:2], "take pen 1 from desk 1", "inventory", "go to drawer 1", "move mug 1 to drawer 1"
    )
    assert [turn.text for turn in turns[3:5]] == [NOTHING, "You are carrying: a mug 1."]
    assert turns[-1].text == NOTHING


@pytest.mark.parametrize("name", [folder.name for folder in sorted(SAMPLES.iterdir())])
def test_a_sample_is_not_won_at_the_start(name: str) -> None:
    assert not load("household", SAMPLES / name / "game.json").reset().won


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", json.dumps({**HEAT, "places": []}), json.dumps({**HEAT, "more": 1}), "\x00"]
)
def test_what_is_no_game_is_an_error(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "game.json"
    file.write_text(broken)
    with pytest.raises(ValueError, match="House"):
        load("household", file)
