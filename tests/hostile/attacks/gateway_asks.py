"""What a request asks the provider for: tools of its own, files, other models, other prices, state."""

from __future__ import annotations

import json
from typing import Any

from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import front, says_policy
from tests.support.wire import Step

FUNCTION = {"type": "function", "name": "f", "parameters": {}}
ASKS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "tools-of-openai": (
        "asks for the provider's own tools",
        "responses",
        [
            {"tools": [FUNCTION, {"type": kind}]}
            for kind in (
                "web_search web_search_preview web_search_2025_08_26 code_interpreter file_search mcp computer"
                " computer_use_preview image_generation programmatic_tool_calling shell WEB_SEARCH unknown_tool"
            ).split()
        ],
    ),
    "tools-of-anthropic": (
        "asks for the provider's own tools",
        "messages",
        [
            {"tools": [{"type": kind, "name": "w"}]}
            for kind in (
                "web_search_20250305 web_fetch_20250910 code_execution_20250825 mcp_toolset advisor_20260301"
                " tool_search_tool_regex_20251119 tool_search_tool_bm25_20251119 memory bash computer_use"
            ).split()
        ],
    ),
    "tools-in-chat": (
        "asks for the provider's search by fields of its own",
        "chat",
        [
            {"web_search_options": {}, "tools": [{"type": "web_search"}]},
            {"web_search_options": {"search_context_size": "high"}},
            {"plugins": [{"id": "web"}]},
            {"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]},
        ],
    ),
    "tools-inside": (
        "hides the provider's tools in namespaces, in the conversation and in odd shapes",
        "responses",
        [
            {"tools": [{"type": "namespace", "name": "n", "tools": [{"type": "mcp", "server_url": "http://evil"}]}]},
            {"input": [{"type": "additional_tools", "tools": [{"type": "web_search"}]}]},
            {"input": [{"type": "tool_search_output", "tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}]},
            {"tools": {"0": {"type": "web_search"}}},
            {"tools": ["web_search"]},
            {"tools": [{"type": ["web_search"]}]},
            {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
            {"tools": [{"type": "shell"}]},
        ],
    ),
    "remote-mcp": (
        "names remote MCP servers",
        "messages",
        [{"mcp_servers": [{"type": "url", "url": "https://evil.example/sse", "name": "x"}]}],
    ),
    "containers": (
        "asks for a container at the provider",
        "messages",
        [{"container": "c_1"}, {"container": {"id": 1}}],
    ),
    "background": ("asks for a response in the background", "responses", [{"background": True}, {"background": 1}]),
    "stored-state": (
        "builds on stored responses, conversations and prompts",
        "responses",
        [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {"prompt": {"id": "pmpt_1"}}],
    ),
    "dearer-tier": (
        "asks for dearer service tiers",
        "responses",
        [{"service_tier": tier} for tier in ("priority", "flex", "scale", "fast", " default", ["auto"])],
    ),
    "faster-model": ("asks for the dear fast mode", "messages", [{"speed": "fast"}, {"service_tier": "priority"}]),
    "fallback-models": (
        "names other models to fall back to",
        "chat",
        [{"models": ["big"]}, {"fallbacks": ["big"]}, {"fallbacks": [{"model": "big"}]}],
    ),
    "another-model": (
        "asks for other models, and for the right one written otherwise",
        "chat",
        [
            {"model": name}
            for name in ("big", "M", "m ", " m", "m\0", "m\u200b", "openai/m", "m:online", "", None, ["m"])
        ]
        + [{"model": {"id": "m"}}],
    ),
}


def tried(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        _, dialect, asks = ASKS[name]
        here = await front(stage, dialect)
        answers = [await here.ask(**ask) for ask in asks]
        through = [json.dumps(ask)[:60] for ask, answer in zip(asks, answers, strict=True) if answer.status == 200]
        quiet = [answer.text[:60] for answer in answers if answer.status != 200 and not says_policy(answer)]
        seen = f"{len(asks)} ways, {len(asks) - len(through)} refused, {here.reached} requests at the provider"
        return holds(not through and not quiet and not here.reached, f"{seen}{' '.join(through + quiet)}")

    return run


for each, row in ASKS.items():
    add(Attack(Area.GATEWAY, f"asks-{each}", row[0], "refused with an answer that says policy", tried(each), False))


async def sent(stage: Stage, dialect: str, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """What the provider got: body and headers."""
    here = await front(stage, dialect)
    headers = options.pop("headers", {})
    start = {"model": "m", "max_tokens": 9, "input" if dialect == "responses" else "messages": []}
    path = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}[dialect]
    answer = await here.client.send("POST", path, json={**start, **options}, headers=headers)
    assert answer.status == 200, answer.text
    return here.provider.requests[0].body, dict(here.provider.requests[0].headers)


@attack(
    Area.GATEWAY,
    "passes files by reference: addresses, file ids, in results of tools",
    expected="each replaced by a sentence that says policy",
)
async def content_by_reference(stage: Stage) -> str:
    references = [
        {"type": "image", "source": {"type": "url", "url": "http://169.254.169.254/latest"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "url", "url": "file:///etc/shadow"}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}]},
        {"type": "image_url", "image_url": {"url": "HTTP://evil.example/x"}},
        {"type": "image_url", "image_url": " data:image/png;base64,xx"},
        {"type": "input_file", "file_url": "http://10.0.0.1/"},
    ]
    body, _ = await sent(stage, "messages", messages=[{"role": "user", "content": references}])
    text = json.dumps(body)
    left = [mark for mark in ("http:", "HTTP:", "file_1", "/etc/shadow", "10.0.0.1", " data:") if mark in text]
    notes = text.count("honed policy: content by reference")
    return holds(not left and notes == len(references), f"{notes} of {len(references)} replaced, left over: {left}")


@attack(Area.GATEWAY, "asks the provider to store the conversation", expected="store is false at the provider")
async def stored_conversation(stage: Stage) -> str:
    body, _ = await sent(stage, "responses", store=True, metadata={"a": "b"})
    return holds(body["store"] is False, f"store: {body['store']}")


@attack(
    Area.GATEWAY,
    "writes a key of the body twice, once right and once wrong",
    expected="the value that was checked is the value that is sent, once",
)
async def duplicate_keys(stage: Stage) -> str:
    here = await front(stage)
    wrong = await here.send('{"model":"m","input":[],"model":"big"}')
    right = await here.send('{"model":"big","input":[],"background":true,"model":"m","background":false}')
    bodies = [request.body for request in here.provider.requests]
    seen = f"{wrong.status} and {right.status}, the provider saw {[each['model'] for each in bodies]}"
    held = [wrong.status, right.status] == [400, 200] and [each["model"] for each in bodies] == ["m"]
    return holds(held and "background" not in bodies[0], seen)


@attack(
    Area.GATEWAY,
    "turns on dear or provider-side features by header",
    expected="those betas, organisations and proxies' headers are not passed on",
)
async def features_by_header(stage: Stage) -> str:
    betas = "context-1m-2025-08-07, fast-mode-2026-01-01,mcp-client-2025-04-04,files-api-2025-04-14,Context-1M-x"
    headers = {
        "anthropic-beta": f"{betas},code-execution-2025-05-22,web-fetch-2025-09-10,interleaved-thinking-2025-05-14",
        "openai-organization": "org-1",
        "openai-project": "p",
        "anthropic-dangerous-direct-browser-access": "true",
        "x-forwarded-host": "evil.example",
        "x-model": "big",
        "x-http-method-override": "DELETE",
        "x-original-url": "/v1/files",
    }
    _, got = await sent(stage, "messages", headers=headers)
    left = sorted(set(headers) & set(got) - {"anthropic-beta"})
    seen = f"passed on: anthropic-beta {got.get('anthropic-beta')}, besides {left}"
    return holds(not left and got.get("anthropic-beta") == "interleaved-thinking-2025-05-14", seen)


@attack(
    Area.GATEWAY,
    "sends header values that cannot be written, so that the failure looks like the provider's",
    expected="left out; the request goes, no failure is noted",
)
async def forged_failure_by_header(stage: Stage) -> str:
    here = await front(stage, steps=[Step()])
    odd = here.head("X-App: a\tb", f"Content-Length: {len(here.body())}") + b"X-Stainless-A: \xff\xfe\r\n"
    long = b"X-Stainless-B: " + b"a" * 30_000 + b"\r\n"
    statuses, _, _ = await here.bytes(odd + long + b"\r\n" + here.body())
    tally = here.client.door.tally()
    got = sorted(name for name in here.provider.requests[0].headers if name.startswith("x-"))
    return holds(statuses == [200] and not tally.failures and not got, f"{statuses}, failures {tally.failures}, {got}")


@attack(
    Area.GATEWAY,
    "fills the record of refusals with control characters and half letters",
    expected="printable text only, bounded",
)
async def odd_names_in_refusals(stage: Stage) -> str:
    here = await front(stage)
    evil = "\\u001b[2J\\ud800\\u202e" * 50
    await here.send(f'{{"model":"{evil}"}}')
    await here.send(f'{{"model":"m","tools":[{{"type":"{evil}"}}]}}')
    await here.send(f'{{"model":"m","input":[],"{evil}":1}}')
    await here.bytes(here.head(line=f"POST /{chr(0x9B)}x HTTP/1.1") + b"\r\n")
    tally = here.client.door.tally()
    names = [*tally.refusals, *tally.removed_tools]
    fine = all(name.isprintable() and len(name) < 130 for name in names)
    return holds(fine and len(names) == 4, f"{len(names)} names, printable and bounded: {fine}")
