"""An engine that does not answer is one plain line, at once."""

from __future__ import annotations

import gc
import socket
import warnings
from pathlib import Path

import pytest
from aiohttp import web

from daemon.setup.docker_ping import Pong, ping


async def test_no_socket(tmp_path: Path) -> None:
    assert await ping(f"unix://{tmp_path}/docker.sock") == "there is no such socket"


async def test_a_dead_socket(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{tmp_path}/docker.sock")
    assert await ping(f"unix://{tmp_path}/docker.sock") == "nobody listens there"


async def test_something_else_listens(tmp_path: Path) -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(status=500, text="no engine\nhere")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.UnixSite(runner, f"{tmp_path}/docker.sock").start()
        told = await ping(f"unix://{tmp_path}/docker.sock")
    finally:
        await runner.cleanup()
    assert isinstance(told, str)
    assert "\n" not in told
    assert len(told) <= 200


async def test_an_engine(tmp_path: Path) -> None:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.json_response({"Version": "27.1", "ApiVersion": "1.44", "MinAPIVersion": "1.24"})

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    try:
        await web.UnixSite(runner, f"{tmp_path}/docker.sock").start()
        assert await ping(f"unix://{tmp_path}/docker.sock") == Pong("27.1")
    finally:
        await runner.cleanup()


async def test_a_refused_address_is_told() -> None:
    assert isinstance(await ping("nonsense://x"), str)


async def test_an_engine_that_goes_while_it_is_asked_leaves_no_socket_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It still listened a moment ago, and refuses in the midst of the SDK."""
    monkeypatch.setattr("daemon.setup.docker_ping.refusal", lambda address: None)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{tmp_path}/docker.sock")
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        told = await ping(f"unix://{tmp_path}/docker.sock")
        gc.collect()
    assert isinstance(told, str)
    assert "refused" in told
    assert [str(one.message) for one in left] == []
