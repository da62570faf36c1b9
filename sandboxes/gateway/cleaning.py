"""What is taken out of a request before it leaves: everything by which the provider would act on the agent's behalf.

Default deny: of a body's keys and of tool types only known ones pass. Tools that the client itself executes stay;
provider-side tools (web search, code execution, remote MCP, …), stored state, other price tiers and content by
reference (URLs, file ids: the provider would fetch them) go, each recorded. The body given is changed in place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sandboxes.gateway.dialects import Dialect
from sandboxes.gateway.references import without_references

if TYPE_CHECKING:
    from collections.abc import Set


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYS = {
    Dialect.RESPONSES: _words(
        "client_metadata context_management include input instructions max_output_tokens max_tool_calls metadata model"
        " parallel_tool_calls prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier"
        " store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user"
    ),
    Dialect.CHAT: _words(
        "audio chat_template_kwargs frequency_penalty function_call functions logit_bias logprobs max_completion_tokens"
        " max_tokens messages metadata min_p modalities model n parallel_tool_calls prediction presence_penalty"
        " prompt_cache_key prompt_cache_options prompt_cache_retention reasoning reasoning_effort repetition_penalty"
        " response_format safety_identifier seed stop store stream stream_options temperature tool_choice tools top_k"
        " top_logprobs top_p user verbosity"
    ),
    Dialect.MESSAGES: _words(
        "cache_control context_management max_tokens messages metadata model output_config output_format"
        " stop_sequences stream system temperature thinking tool_choice tools top_k top_p"
    ),
    Dialect.COUNT_TOKENS: _words(
        "cache_control context_management messages model output_config output_format system thinking tool_choice tools"
    ),
}
_OPENAI_TOOLS = {"function", "custom", "local_shell", "apply_patch", "namespace", "tool_search"}
_ANTHROPIC_TOOLS = re.compile(r"custom|(bash|text_editor|computer|memory)_\d{8}")


def clean(dialect: Dialect, body: dict[str, Any], granted: Set[str]) -> list[str]:
    """Take out what policy does not grant; returns one name for each thing removed, in order.

    Names are a tool's type, `field: key` or `reference: kind`.
    """
    removed = [f"field: {key[:60]}" for key in body if key not in _KEYS[dialect]]
    for key in [key for key in body if key not in _KEYS[dialect]]:
        del body[key]
    removed += _clean_tools(dialect, body, granted)
    removed += _clean_contents(dialect, body, granted)
    _force(dialect, body)
    return removed


def _clean_tools(dialect: Dialect, body: dict[str, Any], granted: Set[str]) -> list[str]:
    if "tools" not in body:
        return []
    kept, removed = _allowed_tools(dialect, body["tools"], granted)
    body["tools"] = kept
    if not removed:
        return []
    if not kept:
        # Providers refuse a choice without tools.
        del body["tools"]
        body.pop("tool_choice", None)
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and (choice.get("type") in removed or choice.get("name") in removed):
        del body["tool_choice"]
    return removed


def _allowed_tools(dialect: Dialect, tools: Any, granted: Set[str]) -> tuple[list[Any], list[str]]:
    kept: list[Any] = []
    removed: list[str] = []
    for tool in tools if isinstance(tools, list) else []:
        kind = tool.get("type") if isinstance(tool, dict) else "malformed"
        if isinstance(tool, dict) and _client_side(dialect, tool, granted):
            if isinstance(tool.get("tools"), list):
                tool["tools"], nested = _allowed_tools(dialect, tool["tools"], granted)
                removed += nested
            kept.append(tool)
        else:
            removed.append(str(kind)[:60])
    return kept, removed


def _client_side(dialect: Dialect, tool: dict[str, Any], granted: Set[str]) -> bool:
    kind = tool.get("type")
    if isinstance(kind, str) and kind in granted:
        return True
    if dialect.provider == "anthropic":
        return kind is None or (isinstance(kind, str) and _ANTHROPIC_TOOLS.fullmatch(kind) is not None)
    if kind == "shell":
        environment = tool.get("environment")
        return isinstance(environment, dict) and environment.get("type") == "local"
    return isinstance(kind, str) and kind in _OPENAI_TOOLS


def _clean_contents(dialect: Dialect, body: dict[str, Any], granted: Set[str]) -> list[str]:
    removed: list[str] = []
    for key in ("input", "messages", "system"):
        items = body.get(key)
        if not isinstance(items, list):
            continue
        for item in items:
            # Codex hands tools over inside the conversation, too (`additional_tools`, `tool_search_output`).
            if isinstance(item, dict) and "tools" in item:
                item["tools"], gone = _allowed_tools(dialect, item["tools"], granted)
                removed += gone
        body[key], gone = without_references(items, text_type="input_text" if key == "input" else "text")
        removed += gone
    return removed


def _force(dialect: Dialect, body: dict[str, Any]) -> None:
    if dialect is Dialect.RESPONSES or "store" in body:
        body["store"] = False
    if dialect is Dialect.CHAT and body.get("stream"):
        # Without it a streamed chat completion says nothing about its usage.
        options = body.get("stream_options")
        body["stream_options"] = {**(options if isinstance(options, dict) else {}), "include_usage": True}
