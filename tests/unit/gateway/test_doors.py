"""Doors open and close: one conformance suite for the real gateway and the fake, then what only the real one does."""

from __future__ import annotations

import asyncio
import random
import stat
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
import structlog

from sandboxes.gateway import listener, proxy
from sandboxes.gateway.fake import FakeDoor, FakeGateway
from sandboxes.gateway.gateway import Gateway
from sandboxes.gateway.listener import PATH_BYTES, make_folder, remove_dead
from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.gateway.upstream import Waits
from sandboxes.sandbox import SandboxError
from tests.support.gateway import KEY, Client, body, opened, policy
from tests.support.upstream import Upstream
from tests.support.waiting import until
from tests.support.wire import Step

POLICY = policy("chat", "http://127.0.0.1:9/v1")
KINDS: dict[str, Callable[[Path], Gateway]] = {"real": ModelGateway, "fake": FakeGateway}


@pytest.fixture(params=KINDS)
async def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Gateway]:
    kind: Gateway = KINDS[request.param](tmp_path / "doors")
    yield kind
    await kind.close()


async def test_a_door_has_a_socket_alone_in_its_own_folder(gateway: Gateway) -> None:
    door = await gateway.open("a-1", POLICY)
    assert door.socket.is_socket()
    assert [each.name for each in door.socket.parent.iterdir()] == [door.socket.name]
    assert stat.S_IMODE(door.socket.stat().st_mode) == 0o666
    assert stat.S_IMODE(door.socket.parent.stat().st_mode) == 0o711
    assert len(str(door.socket).encode()) <= PATH_BYTES
    assert door.tally() == Tally()


async def test_doors_are_apart_also_for_the_same_attempt(gateway: Gateway) -> None:
    one, two = await gateway.open("a-1", POLICY), await gateway.open("a-1", POLICY)
    assert one.token != two.token
    assert one.socket.parent != two.socket.parent
    assert KEY not in one.token
    await one.close()
    assert two.socket.is_socket()


async def test_closing_removes_all_and_may_be_repeated(gateway: Gateway) -> None:
    door = await gateway.open("a-1", POLICY)
    folder = door.socket.parent
    first = await door.close()
    assert not folder.exists()
    assert await door.close() == first == door.tally()


async def test_closing_the_gateway_closes_its_doors(gateway: Gateway) -> None:
    folders = [(await gateway.open(f"a-{k}", POLICY)).socket.parent for k in range(3)]
    await gateway.close()
    assert not any(folder.exists() for folder in folders)
    door = await gateway.open("a-9", POLICY)
    assert door.socket.is_socket()


async def test_a_long_path_falls_back_to_a_short_one(gateway: Gateway, tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    other = type(gateway)(deep)  # type: ignore[call-arg]
    door = await other.open("a-1", POLICY)
    assert len(str(door.socket).encode()) <= PATH_BYTES
    assert door.socket.is_socket()
    folder = door.socket.parent
    await other.close()
    assert not folder.exists()


async def test_a_folder_that_cannot_be_made_is_a_sandbox_error(gateway: Gateway) -> None:
    # A short path: one too long for a socket goes elsewhere, whatever is in the way.
    with tempfile.NamedTemporaryFile() as blocked:
        other = type(gateway)(Path(blocked.name) / "doors")  # type: ignore[call-arg]
        with pytest.raises(SandboxError, match="cannot open a gateway socket under"):
            await other.open("a-1", POLICY)
        await other.close()


async def test_the_fake_says_what_the_test_wants(tmp_path: Path) -> None:
    gateway = FakeGateway(tmp_path, tally=lambda attempt: Tally(last_failure=attempt))
    door = await gateway.open("a-7", POLICY)
    assert isinstance(door, FakeDoor)
    assert (door.attempt_id, door.policy, door.tally().last_failure) == ("a-7", POLICY, "a-7")
    door.counted = replace(door.counted, failures=(ProviderFailure.AUTH,))
    assert (await door.close()).failures == (ProviderFailure.AUTH,)
    assert gateway.doors == [door]
    assert door.closed


async def test_after_closing_nothing_gets_in(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        assert (await sandbox.ask("chat")).status == 200
        await sandbox.door.close()
        with pytest.raises(aiohttp.ClientError):  # also on the connection that was kept alive
            await sandbox.ask("chat")
    assert len(server.requests) == 1


@pytest.mark.parametrize("step", [Step(hang_s=1_000), Step(pause_s=1_000)])
async def test_closing_cuts_running_requests_and_counts_them(tmp_path: Path, step: Step) -> None:
    async with (
        Upstream([step]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox,
    ):
        came = asyncio.Event()

        async def ask() -> None:
            request, headers = body("messages", stream=True), {"x-api-key": sandbox.door.token}
            async with sandbox.session.post("http://d/v1/messages", json=request, headers=headers) as answer:
                await answer.content.readany()
                came.set()
                await answer.read()

        asked = asyncio.create_task(ask())
        await until(lambda: came.is_set() if step.pause_s else server.requests)
        tally = await sandbox.door.close()
        with pytest.raises(aiohttp.ClientError):
            await asked
        assert tally.usage.input_tokens > 0
        assert tally.usage.requests == (1 if step.pause_s else 0)
        assert tally.failures == ()
        assert tally.waiting_s == 0


async def test_closing_ends_requests_that_wait_for_their_next_try(tmp_path: Path) -> None:
    async def forever(seconds: float) -> None:
        await asyncio.Event().wait()

    async with Upstream([Step(status=500, body={})]) as server:
        door = policy("chat", server.base_url("openai"))
        async with opened(tmp_path, door, waits=Waits(rng=random.Random(1), sleep=forever)) as sandbox:
            asked = asyncio.create_task(sandbox.ask("chat"))
            await until(lambda: server.requests)
            await sandbox.door.close()
            with pytest.raises(aiohttp.ClientError):
                await asked


async def test_dead_doors_are_removed_at_the_start_and_living_ones_left(tmp_path: Path) -> None:
    living = ModelGateway(tmp_path)
    door = await living.open("a-1", POLICY)
    (tmp_path / "door-dead").mkdir()
    (tmp_path / "other").mkdir()
    second = ModelGateway(tmp_path)
    await second.open("a-2", POLICY)
    assert door.socket.is_socket()
    assert not (tmp_path / "door-dead").exists()
    assert (tmp_path / "other").exists()
    await living.close()
    await second.close()
    assert remove_dead(tmp_path) == []


async def test_one_line_a_request_and_no_secret_or_body_in_it(tmp_path: Path) -> None:
    async with (
        Upstream([Step(text="private words"), Step(status=401, body={"error": KEY})]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox,
    ):
        with structlog.testing.capture_logs() as logs:
            await sandbox.ask("messages", messages=[{"role": "user", "content": "hidden question"}])
            await sandbox.ask("messages")
            await sandbox.send("POST", "/v1/files")
        token = sandbox.door.token
    lines = [line for line in logs if line["event"] == "model request"]
    assert [(line["status"], line["failure"], line["refusal"]) for line in lines] == [
        (200, None, None),
        (None, "auth", None),
        (None, None, "path: /v1/files"),
    ]
    assert lines[0]["attempt"] == "attempt-1"
    assert (lines[0]["dialect"], lines[0]["input_tokens"], lines[0]["output_tokens"]) == ("messages", 1000, 50)
    for secret in (KEY, token, "private words", "hidden question"):
        assert secret not in str(logs)


async def test_a_slow_reader_gets_everything(tmp_path: Path) -> None:
    step = Step(text="z" * 3_000_000)
    async with Upstream([step]) as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        text = await _read_slowly(sandbox)
        assert text.count(b"z") == 3_000_000
        assert sandbox.door.tally().usage.output_tokens == 50


async def _read_slowly(sandbox: Client) -> bytes:
    headers = {"authorization": f"Bearer {sandbox.door.token}"}
    url = "http://d/v1/chat/completions"
    got = bytearray()
    async with sandbox.session.post(url, json=body("chat", stream=True), headers=headers) as answer:
        while chunk := await answer.content.read(200_000):
            got += chunk
            await asyncio.sleep(0.005)
    return bytes(got)


async def test_doors_opened_side_by_side_are_not_taken_for_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def slow_removal(sockets: Path) -> list[str]:
        order.append("looking")
        time.sleep(0.05)
        order.append("looked")
        return remove_dead(sockets)

    def making(sockets: Path) -> Path:
        order.append("made")
        return make_folder(sockets)

    monkeypatch.setattr(proxy, "remove_dead", slow_removal)
    monkeypatch.setattr(listener, "make_folder", making)
    gateway = ModelGateway(tmp_path)
    await asyncio.gather(*(gateway.open(f"a-{number}", POLICY) for number in range(3)))
    await gateway.close()
    assert order == ["looking", "looked", "made", "made", "made"]


async def test_opening_that_is_cancelled_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    began, go_on, made = threading.Event(), threading.Event(), threading.Event()

    def slow(sockets: Path) -> Path:
        began.set()
        go_on.wait(60)
        try:
            return make_folder(sockets)
        finally:
            made.set()

    monkeypatch.setattr(listener, "make_folder", slow)
    gateway = ModelGateway(tmp_path)
    opening = asyncio.create_task(gateway.open("a-1", POLICY))
    await asyncio.to_thread(began.wait, 60)
    opening.cancel()
    await asyncio.sleep(0)
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    await asyncio.to_thread(made.wait, 60)
    await until(lambda: list(tmp_path.iterdir()) == [])
    await gateway.close()


async def test_closing_that_is_cancelled_revokes_all_the_same(tmp_path: Path) -> None:
    async with (
        Upstream([Step(hang_s=1_000)]) as server,
        opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox,
    ):
        asked = asyncio.create_task(sandbox.ask("chat"))
        await until(lambda: server.requests)
        closing = asyncio.create_task(sandbox.door.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(aiohttp.ClientError):
            await asked
