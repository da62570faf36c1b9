"""A request body of any of the three wire protocols as one `Conversation`, and a `Reply` to it.

Invariant: everything here follows from the request body; nothing is remembered between requests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.demo.pictures import images_in

CHARS_A_TOKEN = 4
"""Usage figures are text lengths over this."""


@dataclass(frozen=True)
class Call:
    """A tool call, with its output once there is one."""

    name: str
    arguments: Mapping[str, Any]
    output: str | None = None


@dataclass(frozen=True)
class Conversation:
    """What the model is shown."""

    model: str
    system: str
    """System instructions outside the turns."""
    texts: tuple[str, ...]
    """Every text block that the model did not write itself, in order; tool outputs are not among them."""
    calls: tuple[Call, ...]
    """The model's own tool calls so far, in order."""
    tools: frozenset[str]
    schema_name: str
    """Of the JSON schema that the reply must have, where the protocol carries one, else empty."""
    fresh_chars: int
    """Size of what this request adds to the one before."""
    cached_chars: int
    """Size of what the request before held already."""
    digest: str
    """Of the whole body: ids are made from it."""
    images: tuple[bytes, ...] = ()
    """Every picture that it is shown, in order."""


@dataclass(frozen=True)
class Reply:
    """What the model answers: text, tool calls, or both."""

    text: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def size(self) -> int:
        """In characters."""
        return len(self.text) + sum(len(json.dumps(dict(call.arguments))) + len(call.name) for call in self.calls)


@dataclass(frozen=True)
class Tokens:
    """Usage of one exchange. `fresh` and `cached` do not overlap."""

    fresh: int
    cached: int
    output: int

    @classmethod
    def of(cls, conversation: Conversation, reply: Reply) -> Tokens:
        """Counted from text lengths, at least one token each way."""
        return cls(
            fresh=max(1, conversation.fresh_chars // CHARS_A_TOKEN),
            cached=conversation.cached_chars // CHARS_A_TOKEN,
            output=max(1, reply.size // CHARS_A_TOKEN),
        )


@dataclass
class _Draft:
    """A conversation while it is read."""

    texts: list[str] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)

    def output(self, call_id: str, content: Any) -> None:
        call = self.calls.get(call_id)
        if call is not None:
            self.calls[call_id] = Call(call.name, call.arguments, text_of(content))


def identity(prefix: str, *parts: object) -> str:
    """An id that follows from its parts."""
    return prefix + hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:24]


def text_of(content: Any) -> str:
    """The text of a content field: a string, or a list of blocks of which the text ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(block["text"]) for block in content if isinstance(block, dict) and "text" in block)


def from_responses(body: Mapping[str, Any]) -> Conversation:
    """An OpenAI Responses request."""
    given = body.get("input") or []
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else list(given)
    draft, last = _Draft(), 0
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        if kind == "function_call":
            draft.calls[item["call_id"]] = Call(item["name"], _arguments(item.get("arguments")))
            last = index
        elif kind == "function_call_output":
            draft.output(item["call_id"], item.get("output"))
        elif kind == "message" and item.get("role") == "assistant":
            last = index
        elif kind == "message":
            draft.texts += _blocks(item.get("content"))
    form = (body.get("text") or {}).get("format") or {}
    system = str(body.get("instructions") or "")
    return _finished(body, draft, system, items, last, schema_name=str(form.get("name", "")))


def from_chat(body: Mapping[str, Any]) -> Conversation:
    """An OpenAI Chat Completions request."""
    messages = list(body.get("messages") or [])
    draft, system, last = _Draft(), [], 0
    for index, message in enumerate(messages):
        role = message.get("role")
        if role in ("system", "developer"):
            system += _blocks(message.get("content"))
        elif role == "assistant":
            last = index
            for call in message.get("tool_calls") or []:
                function = call["function"]
                draft.calls[call["id"]] = Call(function["name"], _arguments(function.get("arguments")))
        elif role == "tool":
            draft.output(message.get("tool_call_id", ""), message.get("content"))
        else:
            draft.texts += _blocks(message.get("content"))
    form = body.get("response_format") or {}
    name = str((form.get("json_schema") or {}).get("name", ""))
    return _finished(body, draft, "\n".join(system), messages, last, schema_name=name)


def from_messages(body: Mapping[str, Any]) -> Conversation:
    """An Anthropic Messages request; system messages among the turns are texts like any other."""
    messages = list(body.get("messages") or [])
    draft, last = _Draft(), 0
    for index, message in enumerate(messages):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
        if message.get("role") == "assistant":
            last = index
        for block in blocks:
            if block.get("type") == "tool_use":
                draft.calls[block["id"]] = Call(block["name"], _arguments(block.get("input")))
            elif block.get("type") == "tool_result":
                draft.output(block.get("tool_use_id", ""), block.get("content"))
            elif block.get("type") == "text" and message.get("role") != "assistant":
                draft.texts.append(str(block.get("text", "")))
    return _finished(body, draft, text_of(body.get("system")), messages, last)


def _finished(
    body: Mapping[str, Any],
    draft: _Draft,
    system: str,
    items: Sequence[Any],
    last: int,
    *,
    schema_name: str = "",
) -> Conversation:
    whole = json.dumps(body, sort_keys=True)
    cached = len(json.dumps(items[:last])) if last else 0
    tools = (tool.get("name") or (tool.get("function") or {}).get("name") for tool in body.get("tools") or [])
    return Conversation(
        model=str(body.get("model", "")),
        system=system,
        texts=tuple(draft.texts),
        calls=tuple(draft.calls.values()),
        tools=frozenset(str(name) for name in tools if name),
        schema_name=schema_name,
        fresh_chars=len(whole) - cached,
        cached_chars=cached,
        digest=hashlib.sha256(whole.encode()).hexdigest(),
        images=tuple(images_in(items)),
    )


def _blocks(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(block["text"]) for block in content or [] if isinstance(block, dict) and "text" in block]


def _arguments(raw: Any) -> Mapping[str, Any]:
    if isinstance(raw, Mapping):
        return raw
    try:
        parsed = json.loads(raw or "{}")
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
