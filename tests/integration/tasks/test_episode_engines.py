"""The command that an agent plays by, in each real engine: the game goes on outside the box between the calls."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from daemon.tasks.episodes.text_episode import text_episode
from harnesses.episode import EpisodeStatus
from harnesses.episode_door import TARGET, episode_door
from tests.support.episodes import WINS, put_game
from tests.support.sandboxes import PATH, Engine, bubblewrap_engine, docker_engine, process_engine, sh

OWNER = "honed-tests-episodes"
ENGINES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    "process",
]


@pytest.fixture(params=ENGINES)
async def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "docker":
        return docker_engine(OWNER)
    return await bubblewrap_engine(OWNER) if request.param == "bubblewrap" else process_engine(OWNER)


async def test_a_game_is_won_from_inside_the_box(engine: Engine, tmp_path: Path) -> None:
    file = await asyncio.to_thread(put_game, tmp_path)
    tries = ("act fly", *(f"act {command}" for command in WINS[:2]), "act 'inventory'")
    async with episode_door(partial(text_episode, "household", file)) as door:
        assert door is not None
        path = f"{TARGET}:{PATH}"
        async with engine.box(tmp_path, mounts=(door.mount,)) as box:
            first = await sh(box, " && ".join(tries), PATH=path)
            rest = await sh(box, "\n".join(f"act {command}" for command in (*WINS[2:], "look")), PATH=path)
        status = door.status
    assert (first.exit_code, first.stderr.read_text()) == (0, "")
    assert first.stdout.read_text().splitlines() == [
        "Nothing happens.",
        "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 1.",
        "You pick up the mug 1 from the desk 1.",
        "You are carrying: a mug 1.",
    ]
    assert rest.stdout.read_text().splitlines()[-4:] == [
        "You move the mug 1 to the drawer 1.",
        "",
        "The task is done: the game is won.",
        "The game is over: no further command is taken.",
    ]
    assert status == EpisodeStatus(won=True, over=True, commands=len(WINS) + 2, moves=len(WINS) + 1)


async def test_a_box_changes_no_command_and_reaches_no_other_game(engine: Engine, tmp_path: Path) -> None:
    if "isolation" in engine.lacks:
        pytest.skip("the process engine isolates nothing")
    file = await asyncio.to_thread(put_game, tmp_path)
    opener = partial(text_episode, "household", file)
    async with episode_door(opener) as mine, episode_door(opener) as other:
        assert mine is not None
        assert other is not None
        tries = (
            f"cat {other.mount.source}/act",
            f"cat {file}",
            "echo exit > $(command -v act)",
            "rm -f $(command -v act)",
        )
        script = "\n".join(f"({one}) 2>/dev/null && echo it did" for one in (*tries, "act look", "act inventory"))
        async with engine.box(tmp_path, mounts=(mine.mount,)) as box:
            seen = await sh(box, script, PATH=f"{TARGET}:{PATH}")
        assert seen.stdout.read_text().splitlines() == [
            "You are in the middle of a room. Looking quickly around you, you see nothing.",
            "it did",
            "You are not carrying anything.",
            "it did",
        ]
        assert other.status == EpisodeStatus()
