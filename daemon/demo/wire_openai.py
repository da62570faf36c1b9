"""Replies in OpenAI's dialects: Responses and Chat Completions, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from daemon.demo.conversation import Conversation, Reply, Tokens, identity

Event = tuple[str, Any]
"""An SSE event's name (empty: none) and its data (text is sent as it is, all else as JSON)."""

_CREATED = 1_750_000_000
"""Fixed: replies depend on nothing but the request."""


def responses_object(conversation: Conversation, reply: Reply) -> dict[str, Any]:
    """The whole response."""
    used = Tokens.of(conversation, reply)
    usage = {
        "input_tokens": used.fresh + used.cached,
        "input_tokens_details": {"cached_tokens": used.cached},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.fresh + used.cached + used.output,
    }
    return {
        "id": identity("resp_", conversation.digest),
        "object": "response",
        "created_at": _CREATED,
        "model": conversation.model,
        "status": "completed",
        "output": _items(conversation, reply),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def responses_events(conversation: Conversation, reply: Reply) -> Iterator[Event]:
    """The response as SSE events, numbered, in the order of the real API."""
    for number, data in enumerate(_response_steps(responses_object(conversation, reply))):
        yield str(data["type"]), {**data, "sequence_number": number}


def _response_steps(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        hollow: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        opened = {**item, **hollow, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": opened}
        yield from _text_steps(place, item) if item["type"] == "message" else _argument_steps(place, item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def _text_steps(place: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (part,) = item["content"]
    place = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _argument_steps(place: dict[str, Any], item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    arguments = item["arguments"]
    yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
    yield {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": arguments}


def _items(conversation: Conversation, reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text:
        items.append(
            {
                "type": "message",
                "id": identity("msg_", conversation.digest),
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            }
        )
    for index, call in enumerate(reply.calls):
        items.append(
            {
                "type": "function_call",
                "id": identity("fc_", conversation.digest, index),
                "call_id": identity("call_", conversation.digest, index),
                "name": call.name,
                "arguments": json.dumps(dict(call.arguments)),
                "status": "completed",
            }
        )
    return items


def chat_object(conversation: Conversation, reply: Reply) -> dict[str, Any]:
    """The whole chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = _chat_calls(conversation, reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    head = _chat_head(conversation, "chat.completion")
    return {**head, "choices": [choice], "usage": _chat_usage(conversation, reply)}


def chat_events(conversation: Conversation, reply: Reply, *, include_usage: bool) -> Iterator[Event]:
    """The chat completion as SSE chunks; the usage chunk only if it was asked for."""
    head = _chat_head(conversation, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": reply.text}]
    calls = _chat_calls(conversation, reply)
    deltas += [{"tool_calls": [{"index": index, **call}]} for index, call in enumerate(calls)]
    for delta in deltas:
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]}
    if include_usage:
        yield "", {**head, "choices": [], "usage": _chat_usage(conversation, reply)}
    yield "", "[DONE]"


def _chat_head(conversation: Conversation, kind: str) -> dict[str, Any]:
    identifier = identity("chatcmpl-", conversation.digest)
    return {"id": identifier, "object": kind, "created": _CREATED, "model": conversation.model}


def _chat_calls(conversation: Conversation, reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": identity("call_", conversation.digest, index),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
        }
        for index, call in enumerate(reply.calls)
    ]


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _chat_usage(conversation: Conversation, reply: Reply) -> dict[str, Any]:
    used = Tokens.of(conversation, reply)
    return {
        "prompt_tokens": used.fresh + used.cached,
        "completion_tokens": used.output,
        "total_tokens": used.fresh + used.cached + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cached},
    }
