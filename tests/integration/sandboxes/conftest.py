from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from aiohttp import web

from sandboxes.cgroup import left_groups, remove_group
from tests.support.sandboxes import (
    Engine,
    bubblewrap_engine,
    bubblewrap_fallback_engine,
    docker_client,
    docker_engine,
    fake_engine,
    process_engine,
)

ENGINES = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("bubblewrap-fallback", marks=pytest.mark.bubblewrap),
    "process",
    "fake",
]


@pytest.fixture
def owner() -> Iterator[str]:
    """An owner of this test alone; whatever containers or control groups it leaves are a failure, and removed."""
    owner = f"test-{uuid.uuid4().hex}"
    yield owner
    left = remove_containers(owner)
    groups = left_groups(f"honed-{hashlib.sha256(owner.encode()).hexdigest()[:8]}-")
    for folder in groups:
        remove_group(folder)
    assert left == []
    assert groups == ()


def remove_containers(owner: str) -> list[str]:
    try:
        with docker_client() as client:
            found = client.api.containers(all=True, filters={"label": f"honed.owner={owner}"})
            for container in found:
                client.api.remove_container(container["Id"], force=True, v=True)
            return [str(container["Names"]) for container in found]
    except Exception as error:
        if "no Docker engine" in str(error):
            return []
        raise


@pytest.fixture(params=ENGINES)
async def engine(request: pytest.FixtureRequest, owner: str) -> Engine:
    match request.param:
        case "docker":
            return docker_engine(owner)
        case "bubblewrap":
            return await bubblewrap_engine(owner)
        case "bubblewrap-fallback":
            return await bubblewrap_fallback_engine(owner)
        case "process":
            return process_engine(owner)
        case _:
            return fake_engine()


@pytest.fixture
async def gateway_socket(tmp_path: Path) -> AsyncIterator[Path]:
    """A unix socket that answers over HTTP, as the gateway's door does: mode 0666 in a folder of mode 0711."""
    folder = tmp_path / "door"
    folder.mkdir(mode=0o711)
    socket = folder / "model.sock"

    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=f"door {request.path} {await request.text()}")

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.UnixSite(runner, str(socket)).start()
    socket.chmod(0o666)
    yield socket
    await runner.cleanup()
