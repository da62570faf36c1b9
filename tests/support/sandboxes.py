"""Engines under test: how each is made, how it is hurt from outside, and what it is known to lack."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from sandboxes.bubblewrap import BubblewrapBox, BubblewrapSandbox
from sandboxes.bubblewrap_run import Setup
from sandboxes.child import Child
from sandboxes.docker import DockerBox, DockerSandbox
from sandboxes.engine_client import ENGINE_ERRORS, address, connected
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.guard import finish
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.namespaces import Way
from sandboxes.process import ProcessBox, ProcessSandbox
from sandboxes.sandbox import Box, BoxSpec, Command, Ended, Sandbox, SandboxError
from sandboxes.wrapper import inner_argv
from tests.support.waiting import PATIENCE_S

PATH = "/usr/local/bin:/usr/bin:/bin"
DEV_IMAGE = "honed-sandbox:dev"


def docker_image() -> str:
    """The image for tests with a real engine: HONED_TEST_IMAGE, else honed's own; skips where there is none."""
    wanted = [os.environ["HONED_TEST_IMAGE"]] if "HONED_TEST_IMAGE" in os.environ else [SANDBOX_IMAGE, DEV_IMAGE]
    try:
        with connected(address()) as client:
            tags = {tag for image in client.images.list() for tag in image.tags}
    except (SandboxError, *ENGINE_ERRORS) as error:
        pytest.skip(f"no Docker engine: {error}")
    for image in wanted:
        if image in tags:
            return image
    pytest.skip(f"no sandbox image {' or '.join(wanted)}: run `honed setup`")


@dataclass
class Engine:
    """One engine under test. `lacks` names what it cannot do; each such test asserts the difference instead."""

    sandbox: Sandbox
    lacks: frozenset[str] = frozenset()
    made: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def box(self, folder: Path, *, attempt_id: str = "a-1", **more: Any) -> AsyncIterator[Box]:
        """An open box in `folder`."""
        spec = BoxSpec(attempt_id, folder / attempt_id, time.time() + 3_600, **more)
        async with self.sandbox.open(spec) as box:
            yield box

    def kill_from_outside(self, box: Box) -> None:
        """Kill the running command as an operator would."""
        if isinstance(box, DockerBox):
            with docker_client() as client:
                client.api.kill(box.container_name(1))
        else:
            for pid in cast("BubblewrapBox | ProcessBox", box).pids:
                os.kill(pid, signal.SIGKILL)


docker_client: Callable[[], Any] = lambda: connected(address())  # noqa: E731


def docker_engine(owner: str) -> Engine:
    return Engine(DockerSandbox(docker_image(), owner=owner))


async def bubblewrap_engine(owner: str) -> Engine:
    sandbox = BubblewrapSandbox(owner=owner)
    try:
        facts = await sandbox.facts()
    except SandboxError as error:
        pytest.skip(str(error))
    bounded = not any("control group" in line for line in facts.lacks)
    return Engine(sandbox, frozenset({"lost"} if bounded else {"lost", "memory", "cpu"}))


async def bubblewrap_fallback_engine(owner: str) -> Engine:
    """The user namespace and resource limits that are used without root or control groups."""
    engine = await bubblewrap_engine(owner)
    sandbox = cast("BubblewrapSandbox", engine.sandbox)
    setup = Setup(way=Way(user_namespace=True), root=None, cgroups=False)
    if problem := await sandbox._try(setup):
        pytest.skip(f"no user namespaces: {problem}")
    sandbox._setup = setup
    lacks = {"lost", "memory", "cpu"}
    if os.geteuid() == 0:
        lacks.add("pids")  # the kernel bounds no process count of its own root, whatever namespace it is in
    return Engine(sandbox, frozenset(lacks))


def process_engine(owner: str) -> Engine:
    return Engine(ProcessSandbox(owner=owner), frozenset({"isolation", "memory", "pids", "lost", "env"}))


def fake_engine() -> Engine:
    lacks = {"isolation", "memory", "pids", "lost", "killed", "forward", "survivors", "mounts"}
    return Engine(FakeSandbox(really_run), frozenset(lacks))


async def really_run(box: FakeBox, command: Command) -> FakeAnswer:
    """The fake's script for the conformance suite: a plain process, killed when the fake gives up on it."""
    assert box._streams is not None
    child = Child(inner_argv(command, box.layout), env={}, cwd=box.workspace, streams=box._streams)
    try:
        await asyncio.wait({child.end})
    finally:
        child.kill()
        await finish(child.drain())
    code = child.end.result()
    return FakeAnswer(exit_code=code if code >= 0 else 128 - code)


async def sh(box: Box, script: str, *, deadline_s: float = PATIENCE_S, forward: bool = False, **env: str) -> Ended:
    """Run a shell script in the box."""
    command = Command(("/bin/sh", "-c", script), {"PATH": PATH, **env}, deadline_s, forward=forward)
    return await box.run(command)
