"""What no request may carry: everything by which the provider would act on the agent's behalf, or at another price.

Default deny: of a body's keys and of tool types only known ones pass. A request that asks for what only an attacker
asks for is refused: provider-side tools (web search, code execution, remote MCP, …), work in the background, stored
state, other models, other price tiers. What a client may send without meaning it is taken out and recorded: unknown
fields, and content by reference (URLs, file ids: the provider would fetch them), which becomes a sentence. Tools that
the client itself executes stay. The body given is changed in place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from sandboxes.gateway.dialects import Dialect, Refusal, shown
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
        "chat_template_kwargs frequency_penalty function_call functions logit_bias logprobs max_completion_tokens"
        " max_tokens messages metadata min_p model n parallel_tool_calls prediction presence_penalty"
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
_REFUSED = {
    "background": "responses in the background are not served",
    "previous_response_id": "stored responses are not served: send the conversation itself",
    "conversation": "stored conversations are not served: send the conversation itself",
    "prompt": "stored prompts are not served: send the text itself",
    "mcp_servers": "remote MCP servers are not served",
    "container": "containers at the provider are not served",
    "web_search_options": "the provider's web search is not granted",
    "plugins": "the provider's plug-ins are not granted",
    "fallbacks": "other models than the configured one are not served",
    "models": "other models than the configured one are not served",
    "service_tier": "other service tiers are not served",
    "speed": "other service tiers are not served",
}
"""Fields that reach beyond the request, and what is said to whoever sets one."""
_PLAIN = {"service_tier": {"auto", "default", "standard", "standard_only"}, "speed": {"standard"}}
"""Values that ask for nothing special."""
_OPENAI_TOOLS = {"function", "custom", "local_shell", "apply_patch", "namespace", "tool_search"}
_ANTHROPIC_TOOLS = re.compile(r"custom|(bash|text_editor|computer|memory)_\d{8}")


def clean(dialect: Dialect, body: dict[str, Any], granted: Set[str]) -> list[str]:
    """Take out what policy does not let through; returns one name for each thing removed, in order.

    Names are `field: key` or `reference: kind`. Raises `Refusal` for what a client asks for on purpose.
    """
    for key, why in _REFUSED.items():
        value = body.get(key)
        if value and not (isinstance(value, str) and value in _PLAIN.get(key, ())):
            raise Refusal(f"field: {key}", f"{why} (`{key}`)")
    removed = [f"field: {shown(key, 60)}" for key in body if key not in _KEYS[dialect]]
    for key in [key for key in body if key not in _KEYS[dialect]]:
        del body[key]
    if body.get("tools") is not None:
        _check_tools(dialect, body["tools"], granted)
    removed += _clean_contents(dialect, body, granted)
    _force(dialect, body)
    return removed


def _check_tools(dialect: Dialect, tools: Any, granted: Set[str]) -> None:
    """Raises `Refusal` unless each tool is one that the client executes, or is granted."""
    if not isinstance(tools, list):
        raise Refusal("tool: malformed", "`tools` is not a list")
    for tool in tools:
        if not isinstance(tool, dict):
            raise Refusal("tool: malformed", "a tool is not an object")
        if not _client_side(dialect, tool, granted):
            kind = shown(str(tool.get("type")), 60)
            raise Refusal(f"tool: {kind}", f"the tool {kind!r} runs at the provider and is not granted to this attempt")
        if "tools" in tool:
            _check_tools(dialect, tool["tools"], granted)


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
            if isinstance(item, dict) and item.get("tools") is not None:
                _check_tools(dialect, item["tools"], granted)
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
