"""The conformance suite: a command that whoever gave it calls hung is stopped as such, and a halted one is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.sandbox import Command, Ended, Ending
from tests.support.sandboxes import PATH, Engine, docker_engine


async def hung(engine: Engine, folder: Path, script: str) -> Ended:
    """A command that is called hung a few looks after it has printed a line."""
    looks = 0

    def why() -> str:
        nonlocal looks
        found = next(iter(folder.rglob("run-1.stdout")), None)
        looks += found is not None and bool(found.read_bytes())
        return "nothing moves" if looks > 3 else ""

    async with engine.box(folder) as box:
        command = Command(("/bin/sh", "-c", script), {"PATH": PATH}, deadline_s=120, hung=why)
        return await box.run(command)


async def test_it_is_stopped_as_hung(engine: Engine, tmp_path: Path) -> None:
    ended = await hung(engine, tmp_path, "echo before; exec sleep 600")
    assert (ended.ending, ended.exit_code, ended.detail) == (Ending.HUNG, None, "nothing moves")
    assert ended.stdout.read_text() == "before\n"
    assert ended.wall_s < 60


@pytest.mark.docker
@pytest.mark.parametrize(
    ("script", "frozen"), [("echo before; kill -STOP $$", True), ("echo before; sleep 600", False)]
)
async def test_the_docker_engine_tells_a_halted_process(
    owner: str, tmp_path: Path, script: str, *, frozen: bool
) -> None:
    assert (await hung(docker_engine(owner), tmp_path, script)).frozen is frozen
