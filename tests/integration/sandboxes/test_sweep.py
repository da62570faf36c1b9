"""What a dead process left is found and removed; what lives or belongs to others is not."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.docker import DockerSandbox
from sandboxes.process import ProcessSandbox
from sandboxes.sandbox import BoxSpec
from tests.integration.sandboxes.test_sandbox_endings import eventually_gone, survivors
from tests.support.sandboxes import bubblewrap_engine, docker_client, docker_image, sh
from tests.support.waiting import wait_until

HONED = """
import asyncio, sys, time
from pathlib import Path
from sandboxes.{module} import {name}
from sandboxes.sandbox import BoxSpec, Command

async def main():
    sandbox = {name}({image}owner=sys.argv[1])
    spec = BoxSpec(sys.argv[3], Path(sys.argv[2]) / sys.argv[3], time.time() + float(sys.argv[4]))
    async with sandbox.open(spec) as box:
        script = "echo x >ready; sleep 600 # " + sys.argv[5]
        await box.run(Command(("/bin/sh", "-c", script), {{"PATH": "/usr/bin:/bin"}}, 600))

asyncio.run(main())
"""


def killed_honed(
    tmp_path: Path,
    owner: str,
    word: str,
    *,
    module: str,
    name: str,
    image: str = "",
    attempt: str = "dead",
    deadline: float = 600,
) -> None:
    """A process that opened a box and was killed with SIGKILL while the command ran."""
    source = HONED.format(module=module, name=name, image=f"{image!r}, " if image else "")
    argv = [sys.executable, "-c", source, owner, str(tmp_path), attempt, str(deadline), word]
    process = subprocess.Popen(argv, cwd=Path(__file__).parents[3])
    ready = tmp_path / attempt / "workspace" / "ready"
    wait_until(lambda: ready.exists() or process.poll() is not None, every_s=0.02)
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.fixture
def word() -> Iterator[str]:
    word = f"left-{uuid.uuid4().hex}"
    yield word
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue


def containers(owner: str) -> list[str]:
    with docker_client() as client:
        found = client.api.containers(all=True, filters={"label": f"honed.owner={owner}"})
    return sorted(container["Labels"]["honed.attempt"] for container in found)


@pytest.mark.docker
async def test_docker_containers_of_a_dead_owner_are_swept(owner: str, tmp_path: Path, word: str) -> None:
    image = docker_image()
    for attempt in ("dead", "keep"):
        await asyncio.to_thread(
            killed_honed, tmp_path, owner, word, module="docker", name="DockerSandbox", image=image, attempt=attempt
        )
    assert containers(owner) == ["dead", "keep"]

    sandbox = DockerSandbox(image, owner=owner)
    seen = [box for box in await sandbox.boxes() if box.ours]
    assert [(box.attempt_id, box.running) for box in seen] == [("dead", True), ("keep", True)]
    assert all(box.deadline is not None and box.deadline > time.time() for box in seen)
    removed = await sandbox.sweep(keep={"keep"})
    assert [name.split("-")[2] for name in removed] == ["dead"]
    assert containers(owner) == ["keep"]

    assert len(await sandbox.sweep()) == 1
    assert containers(owner) == []
    assert await sandbox.sweep() == ()
    await eventually_gone(word)


@pytest.mark.docker
async def test_docker_sweep_spares_open_boxes_and_other_owners(owner: str, tmp_path: Path, word: str) -> None:
    image = docker_image()
    await asyncio.to_thread(killed_honed, tmp_path, owner, word, module="docker", name="DockerSandbox", image=image)
    stranger = DockerSandbox(image, owner=f"{owner}-stranger")
    assert all("dead" not in name for name in await stranger.sweep())
    assert containers(owner) == ["dead"]

    sandbox = DockerSandbox(image, owner=owner)
    async with sandbox.open(BoxSpec("living", tmp_path / "living", time.time() + 3_600)) as box:
        running = asyncio.create_task(sh(box, "echo x >ready; sleep 1; echo lived"))
        while "ready" not in (await box.collect()).files:
            await asyncio.sleep(0.02)
        another = DockerSandbox(image, owner=owner)
        for one in (sandbox, another):
            assert [box.attempt_id for box in await one.boxes() if box.ours] == ["dead"], "none that is open here"
        assert len(await sandbox.sweep()) == 1
        assert (await running).stdout.read_text() == "lived\n"


@pytest.mark.docker
async def test_docker_containers_past_their_deadline_are_swept_by_anybody(
    owner: str, tmp_path: Path, word: str
) -> None:
    image = docker_image()
    await asyncio.to_thread(
        killed_honed, tmp_path, owner, word, module="docker", name="DockerSandbox", image=image, deadline=-1
    )

    removed = await DockerSandbox(image, owner=f"{owner}-stranger").sweep()

    assert any("-dead-" in name for name in removed)
    assert containers(owner) == []


@pytest.mark.docker
async def test_an_attempt_replaces_the_container_of_its_earlier_life(owner: str, tmp_path: Path, word: str) -> None:
    image = docker_image()
    await asyncio.to_thread(killed_honed, tmp_path, owner, word, module="docker", name="DockerSandbox", image=image)

    async with DockerSandbox(image, owner=owner).open(BoxSpec("dead", tmp_path / "dead", time.time() + 3_600)) as box:
        assert (await sh(box, "echo again")).stdout.read_text() == "again\n"

    assert containers(owner) == []
    await eventually_gone(word)


@pytest.mark.bubblewrap
async def test_bubblewrap_dies_with_honed(owner: str, tmp_path: Path, word: str) -> None:
    sandbox = (await bubblewrap_engine(owner)).sandbox
    assert isinstance(sandbox, BubblewrapSandbox)
    await asyncio.to_thread(killed_honed, tmp_path, owner, word, module="bubblewrap", name="BubblewrapSandbox")
    await eventually_gone(word)

    facts = await sandbox.facts()
    left = await sandbox.sweep(keep={"dead"})
    assert left == ()
    if not any("control group" in line for line in facts.lacks):
        assert len(await sandbox.sweep()) == 1
    assert await sandbox.sweep() == ()


async def test_left_processes_are_swept_by_their_marker(owner: str, tmp_path: Path, word: str) -> None:
    await asyncio.to_thread(killed_honed, tmp_path, owner, word, module="process", name="ProcessSandbox")
    assert survivors(word)
    sandbox = ProcessSandbox(owner=owner)

    assert await ProcessSandbox(owner="stranger").sweep() == ()
    assert await sandbox.sweep(keep={"dead"}) == ()
    assert survivors(word)
    [box] = await sandbox.boxes()
    assert (box.attempt_id, box.ours, box.running) == ("dead", True, True)
    assert await sandbox.sweep()
    assert survivors(word) == []
    assert await sandbox.sweep() == ()
