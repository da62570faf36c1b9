"""By which the provider would act on the agent's behalf is refused or taken out; what the client does itself stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from sandboxes.gateway.cleaning import clean
from sandboxes.gateway.dialects import Dialect, Refusal
from tests.support.gateway import body

CODEX_TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "exec_command", "parameters": {"properties": {"file_id": {}}}},
    {"type": "custom", "name": "apply_patch"},
    {"type": "tool_search"},
    {"type": "namespace", "name": "multi_agent_v1", "tools": [{"type": "function", "name": "spawn_agent"}]},
    {"type": "local_shell"},
    {"type": "shell", "environment": {"type": "local"}},
]
PROVIDER_TOOLS = [
    "web_search",
    "web_search_preview_2025_03_11",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer",
    "computer_use_preview",
    "programmatic_tool_calling",
    "shell",
    "something_new",
]


def cleaned(
    dialect: Dialect, granted: frozenset[str] = frozenset(), /, **more: Any
) -> tuple[dict[str, Any], list[str]]:
    request = {**body(dialect.value), **copy.deepcopy(more)}
    return request, clean(dialect, request, granted)


def test_what_the_real_clis_send_stays_as_it_is() -> None:
    codex = {
        "tools": CODEX_TOOLS,
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"effort": "medium"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
        "text": {"verbosity": "low"},
        "client_metadata": {},
        "stream": True,
    }
    request, removed = cleaned(Dialect.RESPONSES, **codex)
    assert removed == []
    assert request == {**body("responses"), **codex}
    claude = {
        "system": [{"type": "text", "text": "x"}],
        "tools": [{"name": "Bash", "input_schema": {}}, {"type": "custom", "name": "X"}, {"type": "bash_20250124"}],
        "metadata": {"user_id": "u"},
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": []},
        "output_config": {"effort": "medium"},
        "stream": True,
    }
    request, removed = cleaned(Dialect.MESSAGES, **claude)
    assert removed == []
    assert request == {**body("messages"), **claude}


def refused(dialect: Dialect, granted: frozenset[str] = frozenset(), /, **more: Any) -> str:
    with pytest.raises(Refusal, match=r"^honed policy: ") as raised:
        cleaned(dialect, granted, **more)
    return raised.value.what


@pytest.mark.parametrize("kind", PROVIDER_TOOLS)
def test_provider_side_tools_are_refused_and_named(kind: str) -> None:
    assert (
        refused(Dialect.RESPONSES, tools=[CODEX_TOOLS[0], {"type": kind, "server_url": "https://x"}]) == f"tool: {kind}"
    )


@pytest.mark.parametrize(
    "kind", ["web_search_20250305", "code_execution_20260521", "web_fetch_20260318", "mcp_toolset"]
)
def test_anthropic_server_tools_are_refused(kind: str) -> None:
    assert refused(Dialect.MESSAGES, tools=[{"name": "Bash"}, {"type": kind, "name": "w"}]) == f"tool: {kind}"


def test_a_grant_lets_its_type_through_alone() -> None:
    tools = [{"type": "web_search"}]
    request, removed = cleaned(Dialect.RESPONSES, frozenset({"web_search"}), tools=tools)
    assert (request["tools"], removed) == (tools, [])
    assert refused(Dialect.RESPONSES, frozenset({"web_search"}), tools=[*tools, {"type": "mcp"}]) == "tool: mcp"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "additional_tools", "role": "developer", "tools": [{"type": "web_search"}]},
        {"type": "tool_search_output", "tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]},
    ],
)
def test_tools_inside_namespaces_and_inside_the_conversation_are_looked_at(item: dict[str, Any]) -> None:
    assert refused(Dialect.RESPONSES, input=[item]) == "tool: web_search"
    inner = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}, {"type": "web_search"}]}
    assert refused(Dialect.RESPONSES, tools=[inner]) == "tool: web_search"


@pytest.mark.parametrize("tools", ["x", {"type": "mcp"}, [None], ["mcp"], [3]])
def test_malformed_tools_do_not_pass(tools: Any) -> None:
    assert refused(Dialect.RESPONSES, tools=tools) == "tool: malformed"
    assert refused(Dialect.RESPONSES, tools=[{"type": ["function"]}]) == "tool: ['function']"


BEYOND = [
    (Dialect.RESPONSES, "background"),
    (Dialect.RESPONSES, "previous_response_id"),
    (Dialect.RESPONSES, "conversation"),
    (Dialect.RESPONSES, "prompt"),
    (Dialect.RESPONSES, "service_tier"),
    (Dialect.CHAT, "web_search_options"),
    (Dialect.CHAT, "plugins"),
    (Dialect.CHAT, "models"),
    (Dialect.CHAT, "service_tier"),
    (Dialect.MESSAGES, "mcp_servers"),
    (Dialect.MESSAGES, "container"),
    (Dialect.MESSAGES, "fallbacks"),
    (Dialect.MESSAGES, "speed"),
    (Dialect.COUNT_TOKENS, "mcp_servers"),
]


@pytest.mark.parametrize(("dialect", "key"), BEYOND)
def test_fields_that_reach_beyond_the_request_are_refused(dialect: Dialect, key: str) -> None:
    assert refused(dialect, **{key: "x"}) == f"field: {key}"
    request, removed = cleaned(dialect, **{key: None})
    assert key not in request
    assert removed == [f"field: {key}"]


@pytest.mark.parametrize(
    ("dialect", "key", "value"),
    [
        (Dialect.RESPONSES, "background", False),
        (Dialect.RESPONSES, "service_tier", "auto"),
        (Dialect.MESSAGES, "service_tier", "standard_only"),
        (Dialect.CHAT, "modalities", ["audio"]),
        (Dialect.CHAT, "no\nsuch\ud800", 1),
    ],
)
def test_fields_that_ask_for_nothing_special_go(dialect: Dialect, key: str, value: Any) -> None:
    request, removed = cleaned(dialect, **{key: value})
    assert key not in request
    assert removed == [f"field: {key}" if key.isprintable() else "field: no?such?"]


def test_nothing_is_stored_at_the_provider() -> None:
    assert cleaned(Dialect.RESPONSES)[0]["store"] is False
    assert cleaned(Dialect.RESPONSES, store=True)[0]["store"] is False
    assert cleaned(Dialect.CHAT, store=True)[0]["store"] is False
    assert "store" not in cleaned(Dialect.CHAT)[0]


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False, "x": 1}, "y"])
def test_streamed_chat_always_tells_its_usage(options: Any) -> None:
    request, _ = cleaned(Dialect.CHAT, stream=True, stream_options=options)
    assert request["stream_options"]["include_usage"] is True
    assert "stream_options" not in cleaned(Dialect.CHAT)[0]


REFERENCES: list[tuple[Dialect, dict[str, Any], str]] = [
    (Dialect.RESPONSES, {"type": "input_image", "image_url": "https://evil.example/x.png"}, "image_url"),
    (Dialect.RESPONSES, {"type": "input_image", "file_id": "file_1"}, "file_id"),
    (Dialect.RESPONSES, {"type": "input_file", "file_url": "http://10.0.0.1/"}, "file_url"),
    (Dialect.CHAT, {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}, "image_url"),
    (Dialect.CHAT, {"type": "image_url", "image_url": 7}, "image_url"),
    (Dialect.CHAT, {"type": "file", "file": {"file_id": "f"}}, "file_id"),
    (Dialect.MESSAGES, {"type": "image", "source": {"type": "url", "url": "https://x"}}, "source url"),
    (Dialect.MESSAGES, {"type": "document", "source": {"type": "file", "file_id": "f"}}, "source file"),
    (Dialect.MESSAGES, {"type": "container_upload", "file_id": "f"}, "file_id"),
]


@pytest.mark.parametrize(("dialect", "block", "kind"), REFERENCES)
def test_content_by_reference_becomes_a_sentence(dialect: Dialect, block: dict[str, Any], kind: str) -> None:
    key = "input" if dialect is Dialect.RESPONSES else "messages"
    inline = {"type": "input_text" if key == "input" else "text", "text": "hi"}
    request, removed = cleaned(dialect, **{key: [{"role": "user", "content": [inline, block]}]})
    assert removed == [f"reference: {kind}"]
    kept, note = request[key][0]["content"]
    assert kept == inline
    assert note["type"] == inline["type"]
    assert note["text"].startswith("honed policy: ")


def test_references_are_found_inside_tool_results() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://x"}}
    document = {"type": "document", "source": {"type": "content", "content": [image]}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image, document]}
    request, removed = cleaned(Dialect.MESSAGES, messages=[{"role": "user", "content": [result]}])
    assert removed == ["reference: source url"] * 2
    output = {"type": "function_call_output", "output": [{"type": "input_image", "image_url": "https://x"}]}
    request, removed = cleaned(Dialect.RESPONSES, input=[output, {"type": "item_reference", "id": "msg_1"}])
    assert removed == ["reference: image_url", "reference: item_reference"]
    assert request["input"][1]["role"] == "user"


def test_inline_content_and_the_agents_own_arguments_stay() -> None:
    inline = [
        {"type": "image", "source": {"type": "base64", "data": "aa"}},
        {"type": "tool_use", "id": "t", "name": "X", "input": {"file_id": "f", "source": {"type": "url"}}},
        {"type": "search_result", "source": "https://x", "content": [{"type": "text", "text": "t"}]},
    ]
    messages = [{"role": "user", "content": inline}, {"role": "assistant", "content": "plain"}]
    request, removed = cleaned(Dialect.MESSAGES, messages=messages)
    assert (request["messages"], removed) == (messages, [])
    items = [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_image", "image_url": "data:image/png;base64,a"}],
        },
        {"type": "function_call", "name": "f", "arguments": '{"file_id": 1}'},
    ]
    request, removed = cleaned(Dialect.RESPONSES, input=items)
    assert (request["input"], removed) == (items, [])
