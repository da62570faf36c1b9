"""Prompt caches: the shared beginning goes first, byte for byte, is marked where needed, and is counted honestly."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import structlog

from harnesses.models.client import ChatMessage, ModelRequest
from sandboxes.gateway.policy import Provider, ProviderError
from tests.support.upstream import Recorded, Upstream
from tests.support.wire import Step
from tests.unit.models.test_clients import SCHEMA, client_for, error

SHARED = "<current_skill>\nLook first.\n</current_skill>\n"
PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")


def asking(own: str, *, stable: int = len(SHARED), system: str = "Be brief.") -> ModelRequest:
    return ModelRequest(system, (ChatMessage("user", SHARED + own, stable),))


def beginning(provider: Provider, sent: Recorded) -> str:
    """All that a cache could hold of a request: everything up to where it differs."""
    body = sent.body
    if provider == "openai":
        [system, user] = body["messages"]
        return json.dumps([system, user["content"][: len(SHARED)]])
    return json.dumps([body.get("tools"), body["system"], body["messages"][0]["content"][0]])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_requests_that_share_a_beginning_send_the_same_bytes_first(provider: Provider) -> None:
    async with Upstream() as server, client_for(provider, server.base_url(provider)) as client:
        for own in ("first", "second"):
            await client.complete(replace(asking(own), schema=SCHEMA))
    one, other = server.requests
    assert beginning(provider, one) == beginning(provider, other)
    assert json.dumps(one.body) != json.dumps(other.body)
    assert list(one.body) == list(other.body)


async def test_anthropic_is_told_where_the_shared_beginning_ends() -> None:
    async with Upstream() as server, client_for("anthropic", server.base_url("anthropic")) as client:
        await client.complete(asking("first"))
    [message] = server.requests[0].body["messages"]
    assert message["content"] == [
        {"type": "text", "text": SHARED, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "first"},
    ]


async def test_a_turn_that_is_asked_about_again_keeps_its_mark() -> None:
    again = replace(
        asking("first"), messages=(*asking("first").messages, ChatMessage("assistant", "{"), ChatMessage("user", "?"))
    )
    async with Upstream() as server, client_for("anthropic", server.base_url("anthropic")) as client:
        await client.complete(again)
    first, *others = server.requests[0].body["messages"]
    assert first["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert [turn["content"] for turn in others] == ["{", "?"]


@pytest.mark.parametrize("stable", [0, len(SHARED) + len("own"), 10_000])
async def test_without_two_parts_nothing_is_marked(stable: int) -> None:
    async with Upstream() as server, client_for("anthropic", server.base_url("anthropic")) as client:
        await client.complete(asking("own", stable=stable))
    assert server.requests[0].body["messages"] == [{"role": "user", "content": SHARED + "own"}]


async def test_a_server_that_refuses_the_mark_gets_the_whole_text_and_it_is_said_once() -> None:
    def plain(request: Recorded) -> Step:
        if "cache_control" in json.dumps(request.body):
            message = "messages.0.content.0.cache_control: Extra inputs are not permitted"
            return Step(status=400, body=error("anthropic", message))
        return Step(text="ok")

    async with Upstream([plain]) as server, client_for("anthropic", server.base_url("anthropic")) as client:
        with structlog.testing.capture_logs() as logs:
            for own in ("first", "second"):
                assert (await client.complete(asking(own))).text == "ok"
    assert len(server.requests) == 3
    assert server.requests[-1].body["messages"] == [{"role": "user", "content": SHARED + "second"}]
    assert [line["parameter"] for line in logs if line["log_level"] == "warning"] == ["cache_control"]


async def test_a_refusal_of_something_else_is_no_reason_to_go_without_a_cache() -> None:
    async with (
        Upstream([Step(status=400, body=error("anthropic", "messages: roles must alternate"))]) as server,
        client_for("anthropic", server.base_url("anthropic")) as client,
    ):
        with pytest.raises(ProviderError):
            await client.complete(asking("first"))
    assert len(server.requests) == 1


async def test_what_is_read_from_and_written_to_anthropics_cache_is_counted_and_priced() -> None:
    """Reading costs the cached price; writing a quarter more than plain input."""
    step = Step(input_tokens=1000, cached_tokens=200, cache_creation_tokens=400, output_tokens=50)
    async with Upstream([step]) as server, client_for("anthropic", server.base_url("anthropic")) as client:
        usage = (await client.complete(asking("first"))).usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (1000, 200, 50)
    assert usage.usd == pytest.approx((400 * 1.0 + 400 * 1.25 + 200 * 0.1 + 50 * 10.0) / 1e6)


async def test_what_openai_read_from_its_cache_is_counted_and_priced() -> None:
    step = Step(input_tokens=1000, cached_tokens=900, output_tokens=0)
    async with Upstream([step]) as server, client_for("openai", server.base_url("openai")) as client:
        usage = (await client.complete(asking("first"))).usage
    assert usage.cached_input_tokens == 900
    assert usage.usd == pytest.approx((100 * 1.0 + 900 * 0.1) / 1e6)
    assert "cache" not in json.dumps(server.requests[0].body)


async def test_openai_itself_is_told_which_requests_share_a_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harnesses.models.openai_client.host_of", lambda _: "api.openai.com")
    asked = [asking("first"), asking("second"), asking("third", system="Another."), asking("fourth", stable=0)]
    async with Upstream() as server, client_for("openai", server.base_url("openai")) as client:
        for request in asked:
            await client.complete(request)
    keys = [request.body.get("prompt_cache_key") for request in server.requests]
    assert keys[0] == keys[1]
    assert keys[0].startswith("honed-")
    assert keys[2] not in (None, keys[0])
    assert keys[3] is None


async def test_openais_cache_key_is_left_out_where_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harnesses.models.openai_client.host_of", lambda _: "eu.api.openai.com")

    def picky(request: Recorded) -> Step:
        if "prompt_cache_key" in request.body:
            return Step(status=400, body=error("openai", "Unknown parameter: 'prompt_cache_key'."))
        return Step(text="ok")

    async with Upstream([picky]) as server, client_for("openai", server.base_url("openai")) as client:
        assert (await client.complete(asking("first"))).text == "ok"
        await client.complete(asking("second"))
    assert len(server.requests) == 3
