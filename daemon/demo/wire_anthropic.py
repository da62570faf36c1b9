"""Replies in Anthropic's dialect: Messages, streamed or whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from daemon.demo.conversation import Conversation, Reply, Tokens, identity
from daemon.demo.wire_openai import Event


def message_object(conversation: Conversation, reply: Reply) -> dict[str, Any]:
    """The whole message."""
    used = Tokens.of(conversation, reply)
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    for index, call in enumerate(reply.calls):
        call_id = identity("toolu_", conversation.digest, index)
        content.append({"type": "tool_use", "id": call_id, "name": call.name, "input": dict(call.arguments)})
    return {
        "id": identity("msg_", conversation.digest),
        "type": "message",
        "role": "assistant",
        "model": conversation.model,
        "content": content,
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": used.fresh,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": used.cached,
            "output_tokens": used.output,
            "service_tier": "standard",
        },
    }


def message_events(conversation: Conversation, reply: Reply) -> Iterator[Event]:
    """The message as SSE events."""
    whole = message_object(conversation, reply)
    usage = whole["usage"]
    started = {**whole, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": started}
    for index, block in enumerate(whole["content"]):
        opened, delta = _split(block)
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": opened}
        yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    output = {"output_tokens": usage["output_tokens"]}
    yield "message_delta", {"type": "message_delta", "delta": stop, "usage": output}
    yield "message_stop", {"type": "message_stop"}


def _split(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A content block as it opens, and its one delta."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
