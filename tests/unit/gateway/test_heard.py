"""Each request that a provider was asked is told of once, with who, what came of it, how long and how much."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.fake import ScriptedModel
from harnesses.models.heard import HeardClient
from sandboxes.gateway.heard import Answered
from sandboxes.gateway.policy import Caps, ProviderError, ProviderFailure, Usage
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.gateway.upstream import Waits
from tests.support.gateway import Client, Sleeps, policy
from tests.support.upstream import Upstream
from tests.support.waiting import until
from tests.support.wire import Step

ASKED = ModelRequest("", (ChatMessage("user", "hello"),))


async def told_of(folder: Path, steps: list[Step], *asks: tuple[str, str], **changes: Any) -> list[Answered]:
    """What is told of requests (method, path) through one door; a path of `messages` is a right request."""
    told: list[Answered] = []
    async with Upstream(steps) as server:
        waits = Waits(rng=random.Random(7), sleep=Sleeps())
        gateway = ModelGateway(folder, waits=waits, heard=told.append)
        door = await gateway.open("attempt-1", policy("messages", server.base_url("anthropic"), **changes))
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(door.socket))) as session:
            client = Client(door, session)
            for method, path in asks:
                await (client.ask("messages") if path == "messages" else client.send(method, path))
        await gateway.close()
    return told


async def test_an_answer_is_told_with_its_tokens_and_the_configured_model(tmp_path: Path) -> None:
    [one] = await told_of(tmp_path, [Step(text="hi")], ("POST", "messages"))
    assert (one.provider, one.outcome, one.retries) == ("anthropic", "ok", 0)
    assert one.model == policy("messages", "").model
    assert one.seconds > 0
    assert one.usage.requests == 1
    assert one.usage.tokens > 0


async def test_failures_and_retries_are_told_by_name(tmp_path: Path) -> None:
    steps = [Step(status=500, body={}), Step(text="hi"), Step(status=401, body={})]
    again, failed = await told_of(tmp_path, steps, ("POST", "messages"), ("POST", "messages"))
    assert (again.outcome, again.retries) == ("ok", 1)
    assert (failed.outcome, failed.usage) == ("auth", Usage())


async def test_what_no_provider_was_asked_is_not_told(tmp_path: Path) -> None:
    asks = (("HEAD", "/api/hello"), ("GET", "/v1/models"), ("POST", "/v1/files"), ("POST", "messages"))
    assert await told_of(tmp_path, [Step()], *asks, caps=Caps(requests=0)) == []


async def test_a_request_that_is_cut_off_is_told_with_what_it_may_have_used(tmp_path: Path) -> None:
    told: list[Answered] = []
    async with Upstream([Step(hang_s=60)]) as server:
        gateway = ModelGateway(tmp_path, heard=told.append)
        door = await gateway.open("attempt-1", policy("messages", server.base_url("anthropic")))
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(door.socket))) as session:
            asked = asyncio.create_task(Client(door, session).ask("messages"))
            await until(lambda: server.requests)
            await gateway.close()
            with pytest.raises(aiohttp.ClientError):
                await asked
    assert [(one.outcome, one.usage.tokens > 0) for one in told] == [("cut", True)]


async def test_a_client_tells_of_replies_failures_and_what_was_cut() -> None:
    told: list[Answered] = []
    replies: list[str | ProviderError] = ["yes", ProviderError(ProviderFailure.RATE_LIMIT, "slow down")]

    def script(request: ModelRequest) -> str | ProviderError:
        return replies.pop(0)

    model = ScriptedModel(script)
    client = HeardClient(model, told.append)
    assert (await client.complete(ASKED)).text == "yes"
    with pytest.raises(ProviderError):
        await client.complete(ASKED)
    with pytest.raises(IndexError):
        await client.complete(ASKED)
    await client.close()
    assert model.closed
    assert [(one.provider, one.model, one.outcome) for one in told] == [
        ("fake", "scripted", "ok"),
        ("fake", "scripted", "rate_limit"),
        ("fake", "scripted", "cut"),
    ]
    assert told[0].usage.tokens > 0
