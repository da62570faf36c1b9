"""What a scripted step looks like on the wire, in the three dialects. Bytes of server-sent events, or JSON objects."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_MESSAGES = itertools.count(1)
"""Message ids differ, as a real provider's do: Claude Code tells replies apart by them."""


@dataclass(frozen=True)
class Call:
    """A tool call of the model; `custom` is a freeform one (Responses)."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    custom: bool = False

    @property
    def json(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Step:
    """One answer of the upstream. The same step counts the same tokens in each dialect."""

    text: str = "done"
    calls: tuple[Call, ...] = ()
    status: int = 200
    body: Any = None
    """Sent as it is where `status` is not 200 (bytes, or something for JSON)."""
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent as it is as an event stream, or as JSON where the request does not stream."""
    input_tokens: int = 1000
    cached_tokens: int = 200
    cache_creation_tokens: int = 0
    output_tokens: int = 50
    no_usage: bool = False
    stop: str | None = None
    """`length` or `refusal`."""
    failed: Mapping[str, Any] | None = None
    """Error object at the head of the stream."""
    hang_s: float = 0.0
    """Before the headers."""
    hold: asyncio.Event | None = None
    """Before the headers, until it is set."""
    pause_s: float = 0.0
    """Between events."""
    drop_after: int | None = None
    """Break the connection off after so many events (or bytes of a whole answer)."""
    split: int = 0
    """Send the stream in slices of so many bytes."""


def whole(dialect: str, model: str, step: Step) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    if dialect == "messages":
        return _message(model, step)
    if dialect == "chat":
        message: dict[str, Any] = {"role": "assistant", "content": step.text}
        if step.stop == "refusal":
            message |= {"content": None, "refusal": step.text}
        if step.calls:
            message["tool_calls"] = [_chat_call(k, call) for k, call in enumerate(step.calls)]
        choice = {"index": 0, "message": message, "finish_reason": _chat_finish(step)}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
        return answer if step.no_usage else {**answer, "usage": _chat_usage(step)}
    return _response(model, step)


def events(dialect: str, model: str, step: Step, *, usage: bool = True) -> Iterator[bytes]:
    """The answer to a request that streams."""
    if dialect == "messages":
        return _message_events(model, step)
    return _chat_events(model, step, usage=usage) if dialect == "chat" else _response_events(model, step)


def _event(name: str, body: Any) -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {body if isinstance(body, str) else json.dumps(body)}\n\n".encode()


# -- OpenAI Responses


def _response(model: str, step: Step) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 0, "model": model}
    items: list[dict[str, Any]] = []
    if step.text:
        content = {"type": "output_text", "text": step.text, "annotations": []}
        items.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [content]}
        )
    items += [_response_call(k, call) for k, call in enumerate(step.calls)]
    status = "incomplete" if step.stop == "length" else "completed"
    answer |= {"status": status, "output": items}
    if step.stop == "length":
        answer["incomplete_details"] = {"reason": "max_output_tokens"}
    if not step.no_usage:
        answer["usage"] = {
            "input_tokens": step.input_tokens,
            "input_tokens_details": {"cached_tokens": step.cached_tokens},
            "output_tokens": step.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": step.input_tokens + step.output_tokens,
        }
    return answer


def _response_call(k: int, call: Call) -> dict[str, Any]:
    if call.custom:
        return {
            "type": "custom_tool_call",
            "id": f"ctc_{k}",
            "call_id": f"call_{k}",
            "name": call.name,
            "input": call.json,
        }
    item = {"type": "function_call", "id": f"fc_{k}", "call_id": f"call_{k}", "name": call.name}
    return {**item, "arguments": call.json, "status": "completed"}


def _response_events(model: str, step: Step) -> Iterator[bytes]:
    answer = _response(model, step)
    started = {**answer, "status": "in_progress", "output": []}
    started.pop("usage", None)
    yield _event("response.created", {"type": "response.created", "response": started})
    if step.failed is not None:
        failed = {**started, "status": "failed", "error": dict(step.failed)}
        yield _event("response.failed", {"type": "response.failed", "response": failed})
        return
    for k, item in enumerate(answer["output"]):
        empty = {**item, "content": []} if item["type"] == "message" else item
        yield _event(
            "response.output_item.added", {"type": "response.output_item.added", "output_index": k, "item": empty}
        )
        if item["type"] == "message":
            delta = {"item_id": item["id"], "output_index": k, "content_index": 0, "delta": step.text}
            yield _event("response.output_text.delta", {"type": "response.output_text.delta", **delta})
        yield _event(
            "response.output_item.done", {"type": "response.output_item.done", "output_index": k, "item": item}
        )
    kind = f"response.{answer['status']}"
    yield _event(kind, {"type": kind, "response": answer})


# -- OpenAI Chat Completions


def _chat_usage(step: Step) -> dict[str, Any]:
    return {
        "prompt_tokens": step.input_tokens,
        "completion_tokens": step.output_tokens,
        "total_tokens": step.input_tokens + step.output_tokens,
        "prompt_tokens_details": {"cached_tokens": step.cached_tokens},
    }


def _chat_finish(step: Step) -> str:
    if step.stop == "length":
        return "length"
    return "tool_calls" if step.calls else "stop"


def _chat_call(k: int, call: Call) -> dict[str, Any]:
    return {"id": f"call_{k}", "type": "function", "function": {"name": call.name, "arguments": call.json}}


def _chat_events(model: str, step: Step, *, usage: bool) -> Iterator[bytes]:
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
    if step.failed is not None:
        yield _event("", {"error": dict(step.failed)})
        return
    delta: dict[str, Any] = {"role": "assistant", "content": step.text}
    if step.calls:
        delta["tool_calls"] = [{"index": k, **_chat_call(k, call)} for k, call in enumerate(step.calls)]
    yield _event("", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield _event("", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_finish(step)}]})
    if usage and not step.no_usage:
        yield _event("", {**base, "choices": [], "usage": _chat_usage(step)})
    yield _event("", "[DONE]")


# -- Anthropic Messages


def _message(model: str, step: Step) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": step.text}] if step.text else []
    for k, call in enumerate(step.calls):
        content.append({"type": "tool_use", "id": f"toolu_{k}", "name": call.name, "input": json.loads(call.json)})
    ends = {"length": "max_tokens", "refusal": "refusal", None: "tool_use" if step.calls else "end_turn"}
    usage = {
        "input_tokens": step.input_tokens - step.cached_tokens - step.cache_creation_tokens,
        "cache_creation_input_tokens": step.cache_creation_tokens,
        "cache_read_input_tokens": step.cached_tokens,
        "output_tokens": step.output_tokens,
    }
    head = {"id": f"msg_{next(_MESSAGES)}", "type": "message", "role": "assistant", "model": model, "content": content}
    answer = {**head, "stop_reason": ends[step.stop], "stop_sequence": None}
    return answer if step.no_usage else {**answer, "usage": usage}


def _message_events(model: str, step: Step) -> Iterator[bytes]:
    if step.failed is not None:
        yield _event("error", {"type": "error", "error": dict(step.failed)})
        return
    message = _message(model, step)
    start = {**message, "content": [], "stop_reason": None}
    if "usage" in start:
        start["usage"] = {**message["usage"], "output_tokens": 1}
    yield _event("message_start", {"type": "message_start", "message": start})
    yield _event("ping", {"type": "ping"})
    for k, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", {"type": "content_block_start", "index": k, "content_block": empty})
        yield _event("content_block_delta", {"type": "content_block_delta", "index": k, "delta": delta})
        yield _event("content_block_stop", {"type": "content_block_stop", "index": k})
    ending: dict[str, Any] = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    final: dict[str, Any] = {"type": "message_delta", "delta": ending}
    if not step.no_usage:
        final["usage"] = {"output_tokens": step.output_tokens}
    yield _event("message_delta", final)
    yield _event("message_stop", {"type": "message_stop"})
