"""What the Docker engine is asked, and when: once, and again after a box failed."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandboxes import docker
from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import BoxSpec, Command, SandboxError
from tests.support.sandboxes import PATH, docker_client, docker_image, sh

pytestmark = pytest.mark.docker


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The images that the engine was asked about."""
    asked: list[str] = []
    real = docker._ask_engine

    def ask(client: Any, image: str, runtime: str | None) -> docker._Engine:
        asked.append(image)
        return real(client, image, runtime)

    monkeypatch.setattr(docker, "_ask_engine", ask)
    return asked


def spec(folder: Path, number: int) -> BoxSpec:
    return BoxSpec(f"a-{number}", folder / f"a-{number}", time.time() + 3_600)


async def test_attempts_do_not_ask_again(owner: str, tmp_path: Path, asked: list[str]) -> None:
    image = docker_image()
    sandbox = DockerSandbox(image, owner=owner)
    first = await sandbox.facts()
    for number in range(2):
        async with sandbox.open(spec(tmp_path, number)) as box:
            assert (await sh(box, "echo ok")).stdout.read_text() == "ok\n"
        assert await sandbox.facts() == first
    assert asked == [image]


@pytest.fixture
def tag(owner: str) -> Iterator[str]:
    """A name for an image of this test alone."""
    docker_image()
    tag = f"honed-test:{owner[-12:]}"
    yield tag
    with docker_client() as client:
        client.images.remove(tag, force=True)


def make_image(tag: str, word: str) -> str:
    """Like the sandbox image, with a label; returns its id."""
    recipe = io.BytesIO(f"FROM {docker_image()}\nLABEL word={word}\n".encode())
    with docker_client() as client:
        image, _ = client.images.build(fileobj=recipe, tag=tag, rm=True, forcerm=True)
        return str(image.id)


async def test_a_replaced_image_is_found_after_one_failure(
    owner: str, tmp_path: Path, asked: list[str], tag: str
) -> None:
    old = make_image(tag, "old")
    sandbox = DockerSandbox(tag, owner=owner)
    assert (await sandbox.facts()).image_digest == old
    with docker_client() as client:
        client.images.remove(tag, force=True)
    new = make_image(tag, "new")

    with pytest.raises(SandboxError, match="No such image"):
        async with sandbox.open(spec(tmp_path, 1)) as box:
            await sh(box, "true")
    async with sandbox.open(spec(tmp_path, 2)) as box:
        assert (await sh(box, "echo ok")).stdout.read_text() == "ok\n"

    assert (await sandbox.facts()).image_digest == new != old
    assert asked == [tag, tag]


async def test_an_engine_that_went_away_is_asked_again(
    owner: str, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    image = docker_image()
    sandbox = DockerSandbox(image, owner=owner)
    await sandbox.facts()
    with monkeypatch.context() as away:
        away.setattr(sandbox, "_address", f"unix://{tmp_path}/gone.sock")
        with pytest.raises(SandboxError, match="no Docker engine answers"):
            async with sandbox.open(spec(tmp_path, 1)):
                pass
        with pytest.raises(SandboxError, match="no Docker engine answers"):
            await sandbox.facts()
    assert (await sandbox.facts()).image_digest.startswith("sha256:")
    assert asked == [image, image]


async def test_a_box_is_started_by_the_runtime_that_was_named(owner: str, tmp_path: Path) -> None:
    named = "io.containerd.runc.v2"
    sandbox = DockerSandbox(docker_image(), owner=owner, runtime=named)
    assert (await sandbox.facts()).runtime == named
    async with sandbox.open(BoxSpec("a-1", tmp_path / "a-1", time.time() + 3_600)) as box:
        running = asyncio.create_task(box.run(Command(("sh", "-c", "echo x >ready; sleep 60"), {"PATH": PATH}, 60)))
        while not (tmp_path / "a-1" / "workspace" / "ready").exists():
            assert not running.done()
            await asyncio.sleep(0.05)
        with docker_client() as client:
            found = client.api.inspect_container(box.container_name(1))
        running.cancel()
        await asyncio.wait({running})

    assert found["HostConfig"]["Runtime"] == named


async def test_a_runtime_that_the_engine_lacks_is_refused(owner: str, tmp_path: Path) -> None:
    sandbox = DockerSandbox(docker_image(), owner=owner, runtime="no-such")
    with pytest.raises(SandboxError, match=r"\[sandbox\] runtime = 'no-such'"):
        async with sandbox.open(BoxSpec("a-1", tmp_path / "a-1", time.time() + 3_600)):
            pass
