"""A game's process: bounded, ended for good, and whatever goes wrong in it is an `EpisodeError`."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from daemon.tasks.episodes.process import Bounds, GameProcess
from harnesses.episode import EpisodeError
from tests.support.episodes import WINS, put_game

PATIENT = Bounds(120.0, 120.0)


async def opened(folder: Path, bounds: Bounds = PATIENT) -> GameProcess:
    game = await GameProcess.start("household", put_game(folder), bounds)
    await game.reset()
    return game


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_it_plays_and_leaves_nothing(tmp_path: Path) -> None:
    game = await opened(tmp_path)
    turns = [await game.step(command) for command in WINS]
    assert [turn.won for turn in turns] == [False] * 6 + [True]
    again = await game.reset()
    assert (again.won, again.moves) == (False, 0)
    folder = game._folder
    assert folder.is_dir()
    await game.close()
    await game.close()
    assert gone(game.pid)
    assert not folder.exists()
    with pytest.raises(EpisodeError, match="ended"):
        await game.step("look")


async def test_a_process_that_is_killed_is_an_error(tmp_path: Path) -> None:
    game = await opened(tmp_path)
    os.kill(game.pid, signal.SIGKILL)
    with pytest.raises(EpisodeError, match=r"ended \(exit code -9\)"):
        await game.step("look")


async def test_a_process_that_stalls_is_an_error_and_ended(tmp_path: Path) -> None:
    game = await opened(tmp_path, Bounds(120.0, 0.2))
    os.kill(game.pid, signal.SIGSTOP)
    with pytest.raises(EpisodeError, match=r"within 0\.2 s"):
        await game.step("look")
    assert gone(game.pid)


@pytest.mark.parametrize(("engine", "said"), [("household", "House"), ("nonsense", "KeyError")])
async def test_what_cannot_be_loaded_is_told(tmp_path: Path, engine: str, said: str) -> None:
    file = tmp_path / "game.json"
    file.write_text("{}")
    game = await GameProcess.start(engine, file, PATIENT)  # type: ignore[arg-type]
    with pytest.raises(EpisodeError, match=f"the game failed: .*{said}"):
        await game.reset()
    await game.close()


@pytest.mark.parametrize("line", ["[]", "{}", "nonsense", '{"text": 5}', '{"text": "x", "won": "maybe"}'])
async def test_what_is_no_turn_is_an_error(tmp_path: Path, line: str) -> None:
    child = await asyncio.create_subprocess_exec(
        *("sh", "-c", 'read x; printf "%s\\n" "$1"; cat', "sh", line),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    folder = tmp_path / "scratch"
    folder.mkdir()
    game = GameProcess(child, folder, PATIENT)
    with pytest.raises(EpisodeError, match="did not answer with a turn"):
        await game.reset()
    await game.close()
