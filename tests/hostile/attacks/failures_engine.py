"""The engine fails under an attempt: lost, killed, no image, no engine, and one that is restarted in the middle."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Awaitable, Callable

from harnesses.harness import Attempt
from harnesses.outcome import Outcome
from sandboxes.docker import DockerSandbox
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.sandbox import Sandbox
from tests.hostile.attack import Area, Stage, UntriedError, attack, holds
from tests.hostile.attacks.failures_cli import say
from tests.hostile.failing import assignment, by_cli, expected_of, judged
from tests.soak.engine import OwnEngine, why_not
from tests.support.gateway import target
from tests.support.sandboxes import docker_image

WAITS = "#!/bin/sh\n" + say('{"type":"thread.started","thread_id":"t"}') + "sleep 600\n"
PATIENCE_S = 60.0
LOST, KILLED, START = Outcome.SANDBOX_LOST, Outcome.SANDBOX_KILLED, Outcome.SANDBOX_START


async def attempt(
    stage: Stage, sandbox: Sandbox, meanwhile: Callable[[str], Awaitable[object]] | None = None
) -> Attempt:
    """An attempt whose CLI waits; once its container runs, `meanwhile` is told its name."""
    harness = by_cli(stage, target("openai", "http://127.0.0.1:9/v1"), sandbox=sandbox, program=WAITS)
    given = assignment(stage, deadline_s=PATIENCE_S)
    running = asyncio.ensure_future(harness.run(given))
    if meanwhile is not None:
        stdout = given.folder / "run-1.stdout"
        while not running.done() and not (stdout.exists() and stdout.stat().st_size):
            await asyncio.sleep(0.05)
        names = [box for box in await asyncio.to_thread(_names, sandbox) if given.attempt_id in box]
        await meanwhile(names[0] if names else "")
    return await running


def _names(sandbox: Sandbox) -> list[str]:
    assert isinstance(sandbox, DockerSandbox)
    done = subprocess.run(
        ["docker", "--host", sandbox._address, "ps", "--format", "{{.Names}}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


async def _docker(*argv: str) -> None:
    await asyncio.to_thread(subprocess.run, ["docker", *argv], capture_output=True, check=True)


@attack(
    Area.FAILURES, "somebody removes the container while the agent works", expected=expected_of(LOST), needs_engine=True
)
async def engine_container_removed(stage: Stage) -> str:
    sandbox = DockerSandbox(docker_image(), owner=stage.owner)
    return judged(await attempt(stage, sandbox, lambda name: _docker("rm", "--force", name)), LOST, "container")


@attack(
    Area.FAILURES, "somebody kills the container while the agent works", expected=expected_of(KILLED), needs_engine=True
)
async def engine_container_killed(stage: Stage) -> str:
    sandbox = DockerSandbox(docker_image(), owner=stage.owner)
    return judged(await attempt(stage, sandbox, lambda name: _docker("kill", name)), KILLED, "outside")


@attack(Area.FAILURES, "somebody stops the container (docker stop)", expected=expected_of(KILLED), needs_engine=True)
async def engine_container_stopped(stage: Stage) -> str:
    sandbox = DockerSandbox(docker_image(), owner=stage.owner)
    return judged(await attempt(stage, sandbox, lambda name: _docker("stop", "--time", "1", name)), KILLED, "outside")


@attack(Area.FAILURES, "the image is not there", expected=expected_of(START), needs_engine=True)
async def engine_image_never_there(stage: Stage) -> str:
    docker_image()
    sandbox = DockerSandbox("honed-no-such-image:none", owner=stage.owner)
    return judged(await attempt(stage, sandbox), START, "honed-no-such-image:none", "honed")


@attack(Area.FAILURES, "the image is removed between two attempts", expected=expected_of(START), needs_engine=True)
async def engine_image_gone(stage: Stage) -> str:
    tag = f"honed-hostile:{stage.owner[-12:]}"
    made = await asyncio.to_thread(_own_image, docker_image(), tag)
    sandbox = DockerSandbox(tag, owner=stage.owner)
    try:
        await sandbox.facts()
    finally:
        await _docker("rmi", "--force", made)
    return judged(await attempt(stage, sandbox), START, "image", "honed")


def _own_image(image: str, tag: str) -> str:
    """Another image than the one it is made of, so that removing it removes nothing else."""
    recipe = f"FROM {image}\nLABEL hostile={tag}\n"
    subprocess.run(
        ["docker", "build", "--quiet", "--tag", tag, "-"], input=recipe.encode(), capture_output=True, check=True
    )
    return tag


@attack(Area.FAILURES, "no engine listens", expected=expected_of(START))
async def engine_not_there(stage: Stage) -> str:
    sandbox = DockerSandbox("any", owner=stage.owner, base_url=f"unix://{stage.folder}/none.sock")
    return judged(await attempt(stage, sandbox), START, "none.sock", "honed doctor")


@attack(Area.FAILURES, "something listens that is no engine", expected=expected_of(START))
async def engine_that_is_none(stage: Stage) -> str:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        writer.close()

    server = await asyncio.start_unix_server(serve, stage.folder / "odd.sock")
    stage.stack.callback(server.close)
    sandbox = DockerSandbox("any", owner=stage.owner, base_url=f"unix://{stage.folder}/odd.sock")
    return judged(await attempt(stage, sandbox), START, "honed doctor")


@attack(
    Area.FAILURES,
    "the engine is killed and started again while the agent works",
    expected=f"{expected_of(LOST)}; the next one runs",
    needs_engine=True,
)
async def engine_restarting(stage: Stage) -> str:
    if missing := await asyncio.to_thread(why_not, SANDBOX_IMAGE):
        raise UntriedError(missing)
    engine = OwnEngine(stage.folder / "engine")
    stage.stack.push_async_callback(asyncio.to_thread, engine.stop)
    await asyncio.to_thread(engine.start)
    await asyncio.to_thread(engine.load, SANDBOX_IMAGE)
    sandbox = DockerSandbox(SANDBOX_IMAGE, owner=stage.owner, base_url=engine.address)

    async def restart(name: str) -> None:
        await asyncio.to_thread(engine.restart)

    seen = judged(await attempt(stage, sandbox, restart), LOST, "engine")
    next_one = by_cli(stage, target("openai", "http://127.0.0.1:9/v1"), sandbox=sandbox, program="#!/bin/sh\nexit 0\n")
    again = (await next_one.run(assignment(stage, tag="b"))).outcome
    await sandbox.sweep()
    left = [box.name for box in await sandbox.boxes() if box.ours]
    return holds(again is Outcome.CLI_PROTOCOL and not left, f"{seen}; the next one ran ({again}); left {left}")
