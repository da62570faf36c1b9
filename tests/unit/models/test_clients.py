"""Both clients against a scripted provider on loopback: requests, usage, refused parameters, failures."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from pydantic import SecretStr

from harnesses.models.client import ChatMessage, ModelClient, ModelRequest
from harnesses.models.factory import make_client
from harnesses.models.retry import Patience
from sandboxes.gateway.policy import Price, Provider, ProviderError, ProviderFailure
from sandboxes.gateway.policy import Upstream as Target
from tests.support.gateway import KEY, Sleeps
from tests.support.upstream import Recorded, Upstream
from tests.support.waiting import LONGER_S
from tests.support.wire import Call, Step

PROVIDERS: tuple[Provider, ...] = ("openai", "anthropic")
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1, "default": 3}},
    "title": "Reply",
}
ASK = ModelRequest("be brief", (ChatMessage("user", "hi"), ChatMessage("assistant", "yes?"), ChatMessage("user", "go")))


def with_schema(**more: Any) -> ModelRequest:
    return ModelRequest(ASK.system, ASK.messages, schema=SCHEMA, schema_name="count", **more)


@asynccontextmanager
async def client_for(
    provider: Provider, base_url: str, *, sleeps: Sleeps | None = None, **changes: Any
) -> AsyncIterator[ModelClient]:
    settings: dict[str, Any] = {"key_name": f"{provider.upper()}_API_KEY", "tries": 3, "retry_s": 30.0, **changes}
    settings.setdefault("timeout_s", 5.0)
    patience = Patience(sleep=sleeps or Sleeps(), rng=random.Random(3), clock=lambda: 1_000_000.0)
    target = Target(provider, base_url, SecretStr(settings.pop("key", KEY)), **settings)
    client = make_client(target, "m", Price(1.0, 0.1, 10.0), patience=patience)
    try:
        yield client
    finally:
        await client.close()


def error(provider: Provider, message: str, code: str = "") -> dict[str, Any]:
    if provider == "anthropic":
        return {"type": "error", "error": {"type": code or "invalid_request_error", "message": message}}
    return {"error": {"message": message, "type": "invalid_request_error", "code": code or None}}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_asks_and_counts(provider: Provider) -> None:
    async with Upstream([Step(text="fine")]) as server, client_for(provider, server.base_url(provider)) as client:
        reply = await client.complete(ASK)
    assert (reply.text, reply.stop, reply.model) == ("fine", "end", "m")
    usage = reply.usage
    assert (usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (1, 1000, 200, 50)
    assert usage.usd == pytest.approx((800 + 20 + 500) / 1e6)
    sent = server.requests[0]
    assert sent.body["messages"][-3:] == [{"role": turn.role, "content": turn.content} for turn in ASK.messages]
    assert (sent.body["system"] if provider == "anthropic" else sent.body["messages"][0]["content"]) == "be brief"
    assert sent.path == ("/v1/messages" if provider == "anthropic" else "/v1/chat/completions")
    assert sent.headers["authorization"] == f"Bearer {KEY}"


async def test_the_environment_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "ambient-secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    for provider in PROVIDERS:
        async with Upstream() as server, client_for(provider, server.base_url(provider)) as client:
            await client.complete(ASK)
        assert "ambient-secret" not in str(dict(server.requests[0].headers))


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_schema_is_asked_for_natively_and_strictly(provider: Provider) -> None:
    async with Upstream([Step(text='{"n": 1}')]) as server, client_for(provider, server.base_url(provider)) as client:
        reply = await client.complete(with_schema(temperature=0.5, seed=9))
    assert reply.text == '{"n": 1}'
    body = server.requests[0].body
    strict = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    assert body["temperature"] == 0.5
    if provider == "openai":
        assert body["seed"] == 9
        assert body["response_format"] == {
            "type": "json_schema",
            "json_schema": {"name": "count", "schema": strict, "strict": True},
        }
    else:
        assert "seed" not in body
        assert body["output_config"] == {"format": {"type": "json_schema", "schema": strict}}
    assert SCHEMA["properties"] == {"n": {"type": "integer", "minimum": 1, "default": 3}}


async def test_openai_falls_back_to_words_aloud_and_once() -> None:
    def server_without_schemas(request: Recorded) -> Step:
        if "response_format" in request.body:
            return Step(status=400, body=error("openai", "Unknown parameter: 'response_format'."))
        return Step(text='{"n": 2}')

    async with Upstream([server_without_schemas]) as server, client_for("openai", server.base_url("openai")) as client:
        with structlog.testing.capture_logs() as logs:
            first = await client.complete(with_schema())
            second = await client.complete(with_schema())
    assert first.text == second.text == '{"n": 2}'
    assert len(server.requests) == 3
    assert '"required":["n"]' in server.requests[1].body["messages"][0]["content"]
    warned = [line for line in logs if line["log_level"] == "warning"]
    assert [line["parameter"] for line in warned] == ["response_format"]


async def test_openai_gives_up_each_refused_parameter_and_swaps_the_limit() -> None:
    def picky(request: Recorded) -> Step:
        for name in ("temperature", "seed", "max_tokens"):
            if name in request.body:
                return Step(status=400, body=error("openai", f"Unsupported parameter: '{name}'."))
        return Step(text="ok")

    async with Upstream([picky]) as server, client_for("openai", server.base_url("openai")) as client:
        ask = ModelRequest("", ASK.messages, temperature=0.0, seed=1, max_output_tokens=77)
        assert (await client.complete(ask)).text == "ok"
    assert server.requests[-1].body["max_completion_tokens"] == 77
    assert len(server.requests) == 4


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_requests_side_by_side_all_adapt(provider: Provider) -> None:
    """The first refusal teaches the client; those that were on their way by then are asked again, too."""
    native = "output_config" if provider == "anthropic" else "response_format"

    def model(request: Recorded) -> Step:
        refused = next((key for key in (native, "temperature", "max_tokens") if key in request.body), "")
        if refused == "max_tokens" and provider == "anthropic":
            refused = ""
        if not refused:
            return Step(text="fine", hang_s=0.01)
        return Step(status=400, body=error(provider, f"unsupported parameter: {refused}"), hang_s=0.05)

    async with Upstream([model]) as server, client_for(provider, server.base_url(provider)) as client:
        replies = await asyncio.gather(*(client.complete(with_schema(temperature=0.5)) for _ in range(4)))
    assert [reply.text for reply in replies] == ["fine"] * 4


async def test_a_server_that_refuses_everything_ends() -> None:
    step = Step(status=400, body=error("openai", "no max_tokens, no max_completion_tokens, no response_format"))
    async with Upstream([step]) as server, client_for("openai", server.base_url("openai")) as client:
        with pytest.raises(ProviderError) as caught:
            await client.complete(with_schema())
    assert caught.value.kind is ProviderFailure.BAD_REQUEST
    assert len(server.requests) == 3


async def test_anthropic_steps_down_from_native_to_tool_to_words() -> None:
    def old(request: Recorded) -> Step:
        if "output_config" in request.body:
            return Step(status=400, body=error("anthropic", "output_config: Extra inputs are not permitted"))
        if request.body.get("tool_choice"):
            return Step(text="", calls=(Call("count", {"n": 5}),))
        return Step(text="?")

    async with Upstream([old]) as server, client_for("anthropic", server.base_url("anthropic")) as client:
        reply = await client.complete(with_schema())
    assert reply.text == '{"n": 5}'
    assert server.requests[1].body["tool_choice"] == {"type": "tool", "name": "count"}

    def older(request: Recorded) -> Step:
        if "output_config" in request.body or "tools" in request.body:
            return Step(status=400, body=error("anthropic", "output_config and tools are not supported"))
        return Step(text='{"n": 6}')

    async with Upstream([older]) as server, client_for("anthropic", server.base_url("anthropic")) as client:
        assert (await client.complete(with_schema())).text == '{"n": 6}'
    assert '"required":["n"]' in server.requests[-1].body["system"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_stops_are_told_apart(provider: Provider) -> None:
    steps = [Step(stop="length"), Step(stop="refusal", text="I cannot")]
    async with Upstream(steps) as server, client_for(provider, server.base_url(provider)) as client:
        assert [(await client.complete(ASK)).stop for _ in steps] == ["length", "refusal"]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_missing_usage_is_estimated(provider: Provider) -> None:
    step = Step(text="x" * 400, no_usage=True)
    async with Upstream([step]) as server, client_for(provider, server.base_url(provider)) as client:
        usage = (await client.complete(ASK)).usage
    if provider == "openai":
        assert usage.output_tokens == 100
        assert usage.input_tokens > 10


FAILURES = [
    (401, "bad key", "", ProviderFailure.AUTH, 1, "401 unauthorized: check {key}"),
    (404, "The model `m` does not exist", "model_not_found", ProviderFailure.MODEL_NOT_FOUND, 1, "404 not found"),
    (429, "slow down", "rate_limit_exceeded", ProviderFailure.RATE_LIMIT, 3, "429 too many requests (3 tries"),
    (429, "no money", "insufficient_quota", ProviderFailure.QUOTA, 1, "add credit to the account of {key}"),
    (500, "boom", "", ProviderFailure.SERVER_ERROR, 3, "500 internal server error (3 tries; boom)"),
    (529, "busy", "overloaded_error", ProviderFailure.OVERLOADED, 3, "529 overloaded"),
    (400, "prompt is too long: 9 > 8", "", ProviderFailure.CONTEXT_LENGTH, 1, "shorten the input"),
    (307, "", "", ProviderFailure.BAD_REQUEST, 1, "redirects are not followed"),
]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("status", "message", "code", "kind", "requests", "says"), FAILURES)
async def test_failures_end_with_one_clear_line(
    provider: Provider, status: int, message: str, code: str, kind: ProviderFailure, requests: int, says: str
) -> None:
    step = Step(status=status, body=error(provider, message, code), headers={"location": "http://127.0.0.1:9/"})
    async with Upstream([step]) as server, client_for(provider, server.base_url(provider)) as client:
        with pytest.raises(ProviderError) as caught:
            await client.complete(ASK)
    line = str(caught.value)
    assert caught.value.kind is kind
    assert caught.value.status == status
    assert len(server.requests) == requests
    assert line.startswith(f"{provider} at 127.0.0.1:")
    assert says.format(key=f"{provider.upper()}_API_KEY") in line
    assert "\n" not in line


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_key_is_never_in_an_error(provider: Provider) -> None:
    for status in (400, 401, 500):
        body = error(provider, f"the key {KEY} is bad")
        async with (
            Upstream([Step(status=status, body=body)]) as server,
            client_for(provider, server.base_url(provider)) as client,
        ):
            with pytest.raises(ProviderError) as caught:
                await client.complete(ASK)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("schema", [False, True])
async def test_a_key_that_the_provider_echoes_is_masked_in_the_reply(provider: Provider, *, schema: bool) -> None:
    said = Call("count", {"n": f"the key is {KEY}"}) if schema and provider == "anthropic" else None
    step = Step(text=f"the key is {KEY}", calls=(said,) if said else ())
    async with Upstream([step]) as server, client_for(provider, server.base_url(provider)) as client:
        reply = await client.complete(with_schema() if schema else ASK)
    assert "the key is [key removed]" in reply.text
    assert KEY not in repr(reply)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_unreachable_ends_in_bounded_time(provider: Provider) -> None:
    sleeps = Sleeps()
    async with client_for(provider, "http://127.0.0.1:9/v1", sleeps=sleeps) as client:
        with pytest.raises(ProviderError, match="check base_url and the network") as caught:
            await client.complete(ASK)
    assert caught.value.kind is ProviderFailure.UNREACHABLE
    assert len(sleeps.asked) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_waits_as_long_as_the_server_asks_but_not_longer_than_allowed(provider: Provider) -> None:
    sleeps = Sleeps()
    steps = [Step(status=429, body={}, headers={"Retry-After": "7"}), Step(text="ok")]
    async with Upstream(steps) as server, client_for(provider, server.base_url(provider), sleeps=sleeps) as client:
        assert (await client.complete(ASK)).text == "ok"
    assert 7 <= sleeps.asked[0] < 8
    steps = [Step(status=429, body={}, headers={"Retry-After": "31"})]
    async with Upstream(steps) as server, client_for(provider, server.base_url(provider)) as client:
        with pytest.raises(ProviderError):
            await client.complete(ASK)
    assert len(server.requests) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_silent_provider_is_asked_twice(provider: Provider) -> None:
    for timeout_s in LONGER_S:
        async with (
            Upstream([Step(hang_s=1_000)]) as server,
            client_for(provider, server.base_url(provider), timeout_s=timeout_s) as client,
        ):
            with pytest.raises(ProviderError) as caught:
                await client.complete(ASK)
        assert caught.value.kind is ProviderFailure.TIMEOUT
        if len(server.requests) == 2:
            break  # both came before their time was over
    assert len(server.requests) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("raw", [b"<html>", b"[]", b'{"choices": []}', b"null", b"[" * 100_000], ids=range(5))
async def test_a_reply_that_is_none_is_named(provider: Provider, raw: bytes) -> None:
    async with Upstream([Step(raw=raw)]) as server, client_for(provider, server.base_url(provider), tries=2) as client:
        with pytest.raises(ProviderError) as caught:
            await client.complete(ASK)
    assert caught.value.kind is ProviderFailure.BAD_REPLY
    assert len(server.requests) == 2


SAID = {"role": "assistant", "content": "x"}
ODD: list[tuple[Provider, dict[str, Any]]] = [
    ("openai", {"choices": [{"message": SAID, "finish_reason": "stop"}], "usage": "many"}),
    ("openai", {"choices": [{"message": {**SAID, "content": [{"type": "text", "text": "x"}]}}]}),
    ("openai", {"choices": [{"message": SAID, "finish_reason": ["stop"]}]}),
    ("openai", {"choices": [{"message": "x"}]}),
    ("openai", {"choices": {"message": SAID}}),
    ("openai", {"choices": [None]}),
    ("anthropic", {"content": ["x"], "usage": {}}),
    ("anthropic", {"content": [{"type": "text", "text": ["x"]}]}),
    ("anthropic", {"content": [{"type": "text", "text": "x"}], "usage": "many"}),
    ("anthropic", {"content": [{"type": "text", "text": "x"}], "stop_reason": ["end_turn"]}),
]


@pytest.mark.parametrize(("provider", "answer"), ODD)
async def test_a_reply_of_another_shape_is_the_servers_fault(provider: Provider, answer: dict[str, Any]) -> None:
    raw = json.dumps(answer).encode()
    async with Upstream([Step(raw=raw)]) as server, client_for(provider, server.base_url(provider), tries=1) as client:
        with pytest.raises(ProviderError) as caught:
            await client.complete(ASK)
    assert caught.value.kind is ProviderFailure.BAD_REPLY


@pytest.mark.parametrize("finish", ["error", "abort", "insufficient_system_resource"])
async def test_a_reply_that_the_server_broke_off_is_asked_for_again(finish: str) -> None:
    broken = json.dumps({"choices": [{"message": SAID, "finish_reason": finish}]}).encode()
    steps = [Step(raw=broken), Step(text="whole")]
    async with Upstream(steps) as server, client_for("openai", server.base_url("openai")) as client:
        assert (await client.complete(ASK)).text == "whole"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_reply_cut_half_way_is_asked_for_again(provider: Provider) -> None:
    steps = [Step(drop_after=20), Step(text="whole")]
    async with Upstream(steps) as server, client_for(provider, server.base_url(provider)) as client:
        assert (await client.complete(ASK)).text == "whole"
    assert len(server.requests) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_server_without_keys_can_be_used(provider: Provider) -> None:
    async with Upstream() as server, client_for(provider, server.base_url(provider), key="") as client:
        assert (await client.complete(ASK)).text == "done"
