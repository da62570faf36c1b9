"""A key that the provider refuses is got anew once, by the gateway and by the model clients alike."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.factory import make_client
from harnesses.models.retry import Patience
from sandboxes.gateway.keys import KeyRenewal
from sandboxes.gateway.policy import Provider, ProviderError, ProviderFailure
from tests.support.gateway import KEY, Sleeps, opened, policy, target
from tests.support.upstream import Recorded, Upstream
from tests.support.wire import Step

NEW = "sk-new-9876543210-secret"
ASK = ModelRequest("", (ChatMessage("user", "hi"),))


def only(key: str) -> object:
    def answer(seen: Recorded) -> Step:
        shown = seen.headers.get("x-api-key") or seen.headers["authorization"].removeprefix("Bearer ")
        return Step(text=f"for {shown}") if shown == key else Step(status=401, body={"error": {"message": shown}})

    return answer


class Source:
    """Where keys come from: each once."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.refused: list[str] = []

    def __call__(self, refused: SecretStr) -> SecretStr | None:
        self.refused.append(refused.get_secret_value())
        return SecretStr(self.keys.pop(0)) if self.keys else None


@pytest.mark.parametrize(("dialect", "provider"), [("responses", "openai"), ("messages", "anthropic")])
async def test_requests_side_by_side_get_one_new_key(tmp_path: Path, dialect: str, provider: Provider) -> None:
    source = Source(NEW)
    async with Upstream([only(NEW)]) as server:  # type: ignore[list-item]
        upstream = replace(target(provider, server.base_url(provider)), renewal=KeyRenewal(source, "x"))
        async with opened(tmp_path, policy(dialect, "", upstream=upstream)) as sandbox:
            answers = await asyncio.gather(*(sandbox.ask(dialect) for _ in range(5)))
            later = await sandbox.ask(dialect)
            tally = sandbox.door.tally()
    assert {answer.status for answer in (*answers, later)} == {200}
    assert source.refused == [KEY]
    assert (tally.failures, tally.usage.requests) == ((), 6)
    assert not any(NEW in answer.text or KEY in answer.text for answer in answers)


@pytest.mark.parametrize("keys", [(), (KEY,), ("sk-also-wrong-0123456789",)])
async def test_a_key_that_is_refused_again_is_told(tmp_path: Path, keys: tuple[str, ...]) -> None:
    source = Source(*keys)
    async with Upstream([only(NEW)]) as server:  # type: ignore[list-item]
        upstream = replace(target("openai", server.base_url("openai")), renewal=KeyRenewal(source, "x"))
        async with opened(tmp_path, policy("chat", "", upstream=upstream)) as sandbox:
            answer = await sandbox.ask("chat")
            assert sandbox.door.tally().failures == (ProviderFailure.AUTH,)
    assert answer.status == 400
    assert source.refused == [KEY]


@pytest.mark.parametrize(("provider", "text"), [("openai", "for"), ("anthropic", "for")])
async def test_the_model_clients_do_likewise(provider: Provider, text: str) -> None:
    source = Source(NEW)
    async with Upstream([only(NEW)]) as server:  # type: ignore[list-item]
        upstream = replace(target(provider, server.base_url(provider)), renewal=KeyRenewal(source, "x"))
        client = make_client(upstream, "m", patience=Patience(sleep=Sleeps(), rng=random.Random(1)))
        try:
            reply = await client.complete(ASK)
            assert (await client.complete(ASK)).text == reply.text == f"{text} [key removed]"
        finally:
            await client.close()
    assert source.refused == [KEY]
    assert len(server.requests) == 3


async def test_a_client_without_another_key_fails_as_before() -> None:
    async with Upstream([only(NEW)]) as server:  # type: ignore[list-item]
        upstream = replace(target("openai", server.base_url("openai")), renewal=KeyRenewal(Source(), "x"))
        client = make_client(upstream, "m", patience=Patience(sleep=Sleeps(), rng=random.Random(1)))
        with pytest.raises(ProviderError) as raised:
            await client.complete(ASK)
        await client.close()
    assert raised.value.kind is ProviderFailure.AUTH
