"""An episode behind its command: what a program in a box can do through the socket, and what it cannot."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from harnesses.codex import CodexHarness
from harnesses.episode import EpisodeError, EpisodeStatus
from harnesses.episode_door import COMMAND_BYTES, TARGET, EpisodeDoor, episode_door
from harnesses.fake import FakeEpisode
from harnesses.outcome import Outcome
from sandboxes.fake import FakeAnswer, FakeBox
from sandboxes.sandbox import Command
from tests.support.harnesses import assignment, faked
from tests.support.streams import to_the_end


async def run(door: EpisodeDoor, *words: str, path: str = "/usr/local/bin:/usr/bin:/bin") -> str:
    """The command as a shell finds it."""
    env = {"PATH": f"{door.mount.source}:{path}"}
    child = await asyncio.create_subprocess_exec(
        "/bin/sh", "-c", 'act "$@"', "sh", *words, env=env, stdout=asyncio.subprocess.PIPE
    )
    return (await child.communicate())[0].decode().strip()


async def say(door: EpisodeDoor, data: bytes) -> str:
    """Bytes straight to the socket."""
    reader, writer = await asyncio.open_unix_connection(str(door.mount.source / "e.sock"))
    writer.write(data)
    writer.write_eof()
    told = (await to_the_end(reader)).decode().strip()
    writer.close()
    return told


async def test_a_game_is_won_by_the_command() -> None:
    episode = FakeEpisode(("open door", "win"))
    async with episode_door(episode.open) as door:
        assert door is not None
        told = [await run(door, *words) for words in (("look",), ("open", "door"), ("open door",), ("win",), ("win",))]
        assert told == ["You did: look", "You did: open door", "You did: open door", "You have won.", "it is over"]
        assert door.status == EpisodeStatus(won=True, over=True, commands=4, moves=4)
        folder = door.mount.source
    assert not folder.exists()
    assert episode.closed


async def test_an_image_with_python_alone_will_do(tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if python is None:
        pytest.skip("the system has no python3")
    (tmp_path / "python3").symlink_to(python)
    async with episode_door(FakeEpisode().open) as door:
        assert door is not None
        assert await run(door, "go", "to", "désk", path=str(tmp_path)) == "You did: go to désk"


async def test_what_comes_through_the_socket_is_one_bounded_command() -> None:
    episode = FakeEpisode()
    async with episode_door(episode.open) as door:
        assert door is not None
        assert await say(door, b'{"op": "reset"}') == 'You did: {"op": "reset"}'
        assert await say(door, b"\xff\xfe") == "You did: ��"
        assert "too long" in await say(door, b"x" * (COMMAND_BYTES + 1))
        assert len(episode.commands) == 2
        told = await asyncio.gather(*(say(door, b"look") for _ in range(20)))
        assert told == ["You did: look"] * 20


async def test_the_folder_lets_another_user_in_and_nothing_be_changed() -> None:
    async with episode_door(FakeEpisode().open) as door:
        assert door is not None
        folder = door.mount.source
        assert [folder.stat().st_mode & 0o777, (folder / "act").stat().st_mode & 0o777] == [0o711, 0o555]
        assert (folder / "e.sock").stat().st_mode & 0o777 == 0o666
        assert sorted(file.name for file in folder.iterdir()) == ["act", "e.sock"]


async def test_a_world_that_fails_is_remembered() -> None:
    async with episode_door(FakeEpisode(breaks_at=1).open) as door:
        assert door is not None
        assert await run(door, "look") == "The game has failed."
        assert door.failure == "the game's process ended"


async def test_no_episode_no_door() -> None:
    async with episode_door(None) as door:
        assert door is None


async def test_the_cli_is_shown_the_command_and_told_of_it(tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        seen["path"] = command.env["PATH"]
        seen["prompt"] = (box.out / "prompt.txt").read_text()
        return FakeAnswer()

    episode = FakeEpisode()
    harness, _, _ = faked(CodexHarness, tmp_path, script)
    attempt = await harness.run(assignment(tmp_path, episode=episode.open))
    assert seen["path"].startswith(f"{TARGET}:")
    assert "Act by running `act COMMAND`" in seen["prompt"]
    assert "You are in a room." in seen["prompt"]
    assert attempt.episode == EpisodeStatus()
    assert episode.closed


async def test_a_world_that_does_not_start_is_no_score(tmp_path: Path) -> None:
    class Dead(FakeEpisode):
        @property
        def opening(self) -> str:
            raise EpisodeError("the game failed: no")

    harness, _, _ = faked(CodexHarness, tmp_path, lambda box, command: FakeAnswer())
    attempt = await harness.run(assignment(tmp_path, episode=Dead().open))
    assert (attempt.outcome, attempt.detail) == (Outcome.EPISODE_FAILED, "the game failed: no")
