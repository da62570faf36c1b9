"""Tools, calls and their results as both providers' protocols carry them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from harnesses.episode import Tool
from harnesses.models.client import ChatMessage, ToolUse

CALLS = 16
"""Kept of one reply: no honest one has more."""
Scrub = Callable[[str], str]
"""Takes secrets out of what a server says."""
_NONE = {"type": "object", "properties": {}}
_CACHED = {"cache_control": {"type": "ephemeral"}}


def openai_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """For `tools` of Chat Completions."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters) or _NONE,
            },
        }
        for tool in tools
    ]


def openai_turn(turn: ChatMessage) -> list[dict[str, Any]]:
    """The messages of a turn with calls or their answers."""
    if turn.answers:
        return [{"role": "tool", "tool_call_id": answer.id, "content": answer.text} for answer in turn.answers]
    calls = [
        {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": _text(use)}}
        for use in turn.calls
    ]
    return [{"role": "assistant", "content": turn.content or None, "tool_calls": calls}]


def openai_calls(message: Any, scrub: Scrub) -> tuple[ToolUse, ...]:
    """The function calls of a message; a call without an id gets one."""
    found = []
    for number, call in enumerate((getattr(message, "tool_calls", None) or [])[:CALLS]):
        function = getattr(call, "function", None)
        if function is None:
            continue
        given = function.arguments
        raw = scrub(given if isinstance(given, str) else json.dumps(given))
        found.append(ToolUse(str(call.id or f"call_{number}"), scrub(str(function.name)), _object(raw), raw))
    return tuple(found)


def anthropic_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """For `tools` of Messages."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters) or _NONE}
        for tool in tools
    ]


def anthropic_turn(turn: ChatMessage) -> dict[str, Any]:
    """A turn with calls or their answers."""
    if turn.answers:
        results = [
            {"type": "tool_result", "tool_use_id": answer.id, "content": answer.text, "is_error": not answer.ok}
            for answer in turn.answers
        ]
        return {"role": "user", "content": results}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": turn.content}] if turn.content.strip() else []
    blocks += [
        {"type": "tool_use", "id": use.id, "name": use.name, "input": dict(use.arguments or {})} for use in turn.calls
    ]
    return {"role": "assistant", "content": blocks}


def anthropic_calls(blocks: Sequence[Any], scrub: Scrub) -> tuple[ToolUse, ...]:
    """The tool_use blocks of a message."""
    found = []
    for block in [block for block in blocks if block.type == "tool_use"][:CALLS]:
        raw = scrub(json.dumps(block.input))
        found.append(ToolUse(block.id, scrub(block.name), _object(raw), raw))
    return tuple(found)


def with_cached_end(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with the last block marked, so that the next turn of the conversation finds all of it in the cache."""
    if not messages:
        return messages
    last = messages[-1]
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if not blocks or not str(blocks[-1].get("text", blocks[-1].get("content", ""))).strip():
        return messages  # an empty block cannot be cached
    return [*messages[:-1], {**last, "content": [*blocks[:-1], {**blocks[-1], **_CACHED}]}]


def _text(use: ToolUse) -> str:
    """Arguments as text that every server reads: what is no object goes back as an empty one."""
    return json.dumps(dict(use.arguments or {}))


def _object(raw: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
