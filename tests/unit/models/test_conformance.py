"""What every `ModelClient` keeps: the two real ones and the fake."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from harnesses.models.client import ChatMessage, ModelClient, ModelReply, ModelRequest
from harnesses.models.factory import make_client
from harnesses.models.fake import ScriptedModel
from harnesses.models.retry import Patience
from sandboxes.gateway.failures import failure_error
from sandboxes.gateway.policy import Price, Provider, ProviderError, ProviderFailure
from sandboxes.gateway.policy import Upstream as Target
from tests.support.gateway import Sleeps
from tests.support.upstream import Recorded, Upstream
from tests.support.wire import Step

ASK = ModelRequest("system", (ChatMessage("user", "say hello"),))
BAD = ModelRequest("system", (ChatMessage("user", "fail"),))


def scripted(request: ModelRequest) -> str | ProviderError:
    if request.messages[-1].content != "fail":
        return "hello"
    return failure_error(Target("openai", "http://h", SecretStr("k")), ProviderFailure.AUTH, 401)


def provider_script(request: Recorded) -> Step:
    failing = request.body["messages"][-1]["content"] == "fail"
    return Step(status=401, body={}) if failing else Step(text="hello")


@pytest.fixture(params=["openai", "anthropic", "fake"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[ModelClient]:
    price = Price(1.0, 1.0, 1.0)
    if request.param == "fake":
        yield ScriptedModel(scripted, model="m", price=price)
        return
    provider: Provider = request.param
    async with Upstream([provider_script]) as server:
        target = Target(provider, server.base_url(provider), SecretStr("k"), "K", tries=2)
        real = make_client(target, "m", price, patience=Patience(sleep=Sleeps(), rng=random.Random(1)))
        yield real
        await real.close()


async def test_answers_with_text_usage_and_an_end(client: ModelClient) -> None:
    reply = await client.complete(ASK)
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.stop, reply.model, client.model) == ("hello", "end", "m", "m")
    assert reply.usage.requests == 1
    assert reply.usage.input_tokens > 0
    assert reply.usage.output_tokens > 0
    assert reply.usage.usd == pytest.approx(reply.usage.tokens / 1e6)


async def test_raises_named_failures_and_goes_on(client: ModelClient) -> None:
    with pytest.raises(ProviderError, match="401 unauthorized: check") as caught:
        await client.complete(BAD)
    assert (caught.value.kind, caught.value.status) == (ProviderFailure.AUTH, 401)
    assert (await client.complete(ASK)).text == "hello"


async def test_closing_twice_is_safe(client: ModelClient) -> None:
    await client.close()
    await client.close()


def test_no_sdk_is_imported_before_it_is_used() -> None:
    """Each takes a second or more, which `honed log` should not pay for."""
    code = "import sys, harnesses.models.factory; sys.exit(bool({'openai', 'anthropic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
