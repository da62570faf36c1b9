"""Tools in both protocols: the simulated server understands what the clients send, and they what it calls."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from daemon.demo.conversation import from_chat, from_messages
from daemon.demo.server import SimulatedModel
from harnesses.episode import Tool
from harnesses.models.client import ChatMessage, ModelRequest, ToolAnswer, ToolUse
from harnesses.models.factory import make_client
from harnesses.models.tool_turns import (
    anthropic_calls,
    anthropic_turn,
    openai_calls,
    openai_turn,
    with_cached_end,
)
from sandboxes.gateway.policy import Price, Provider, Upstream

ACT = Tool("act", "Give a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
OPENING = (
    "You are in a room. Looking around you, you see a desk 1, and a shelf 1.\n\nYour task is to: put some pen on shelf."
)
USE = ToolUse("call_1", "act", {"command": "go to desk 1"}, '{"command": "go to desk 1"}')
TURNS = (
    ChatMessage("user", OPENING),
    ChatMessage("assistant", "I look.", calls=(USE,)),
    ChatMessage("user", "", answers=(ToolAnswer("call_1", "You arrive at desk 1. On the desk 1, you see a pen 1."),)),
)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_conversation_with_tools_goes_both_ways(provider: Provider) -> None:
    async with SimulatedModel() as server:
        base = server.anthropic_base_url if provider == "anthropic" else server.openai_base_url
        upstream = Upstream(provider, base, SecretStr("k-123456789"))
        client = make_client(upstream, "m", price=Price(1e-6, 1e-6, 1e-6))
        first = await client.complete(ModelRequest("Play.", TURNS[:1], tools=(ACT,)))
        third = await client.complete(ModelRequest("Play.", TURNS, tools=(ACT,)))
        plain = await client.complete(ModelRequest("Play.", TURNS[:1]))
        await client.close()
    assert [(use.name, use.arguments) for use in first.calls] == [("act", {"command": "go to desk 1"})]
    assert [(use.name, use.arguments) for use in third.calls] == [("act", {"command": "take pen 1 from desk 1"})]
    assert (first.stop, third.usage.requests) == ("end", 1)
    assert third.usage.output_tokens > 0
    assert plain.calls == ()
    assert plain.text


def test_turns_are_read_as_they_were_meant() -> None:
    chat = from_chat({"model": "m", "messages": [message for turn in TURNS[1:] for message in openai_turn(turn)]})
    messages = from_messages({"model": "m", "messages": [anthropic_turn(turn) for turn in TURNS[1:]]})
    for read in (chat, messages):
        [call] = read.calls
        assert (call.name, call.arguments) == ("act", USE.arguments)
        assert call.output == TURNS[2].answers[0].text


def said(*arguments: Any) -> Any:
    calls = [SimpleNamespace(id="", function=SimpleNamespace(name="act", arguments=one)) for one in arguments]
    return SimpleNamespace(tool_calls=calls)


@pytest.mark.parametrize("raw", ["{oops", "[]", '"x"', "null", "5", "[" * 100_000])
def test_arguments_that_are_no_object_are_kept_apart(raw: str) -> None:
    [use] = openai_calls(said(raw), str)
    assert (use.arguments, use.raw, use.id) == (None, raw, "call_0")
    assert openai_turn(ChatMessage("assistant", "", calls=(use,)))[0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_calls_are_bounded_and_none_is_fine() -> None:
    assert len(openai_calls(said(*["{}"] * 99), str)) == 16
    assert openai_calls(SimpleNamespace(tool_calls=None), str) == ()
    block = SimpleNamespace(type="tool_use", id="t", name="act", input={})
    assert len(anthropic_calls([block] * 99, str)) == 16


def test_secrets_do_not_come_back_in_arguments() -> None:
    [use] = openai_calls(said('{"command": "say k-123"}'), lambda text: text.replace("k-123", "***"))
    assert use.arguments == {"command": "say ***"}
    block = SimpleNamespace(type="tool_use", id="t", name="act", input={"command": "k-123"})
    [use] = anthropic_calls([block], lambda text: text.replace("k-123", "***"))
    assert use.arguments == {"command": "***"}


def test_the_end_of_a_conversation_is_cached_for_its_next_turn() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    plain = with_cached_end([{"role": "user", "content": "Hello"}])
    assert plain == [{"role": "user", "content": [{"type": "text", "text": "Hello", **mark}]}]
    turns = [anthropic_turn(turn) for turn in TURNS[1:]]
    marked = with_cached_end(turns)
    assert marked[0] == turns[0]
    assert marked[1]["content"][-1] == {**turns[1]["content"][-1], **mark}
    assert with_cached_end([{"role": "user", "content": " "}]) == [{"role": "user", "content": " "}]
    assert with_cached_end([]) == []


def test_a_failed_call_says_so_to_claude() -> None:
    turn = ChatMessage("user", "", answers=(ToolAnswer("a", "no such tool", ok=False),))
    assert anthropic_turn(turn)["content"][0]["is_error"] is True
