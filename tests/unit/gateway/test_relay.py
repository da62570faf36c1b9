"""The main path: the real key goes in on the way out, the answer comes back whole, usage is read off the wire."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.gateway import DIALECTS, KEY, PATHS, Client, body, opened, policy
from tests.support.upstream import Upstream
from tests.support.wire import Step, events


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_answers_and_counts_in_every_dialect(tmp_path: Path, dialect: str, stream: bool) -> None:
    step = Step(text="hello", input_tokens=1000, cached_tokens=200, cache_creation_tokens=300, output_tokens=50)
    async with (
        Upstream([step]) as provider,
        opened(tmp_path, policy(dialect, provider.base_url(_of(dialect)))) as sandbox,
    ):
        answer = await sandbox.ask(dialect, stream=stream)
        tally = sandbox.door.tally()
    assert answer.status == 200
    assert "hello" in answer.text
    if stream:
        assert _ids_off(answer.content) == _ids_off(b"".join(events(dialect, "m", step)))
    usage = tally.usage
    assert (usage.requests, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens) == (1, 1000, 200, 50)
    written = 0.25 * 300 if dialect == "messages" else 0  # a cache write costs a quarter more
    assert usage.usd == pytest.approx((800 * 1.0 + 200 * 0.1 + written * 1.0 + 50 * 10.0) / 1e6)
    assert (tally.failures, tally.refusals, tally.removed_tools, tally.last_request_failed) == ((), (), (), False)


async def test_a_door_tells_which_marks_the_model_was_sent(tmp_path: Path) -> None:
    marks = frozenset({"count “wc”\tlines", "never sent"})
    async with (
        Upstream([Step(), Step(status=500), Step()]) as provider,
        opened(tmp_path, policy("chat", provider.base_url("openai"), marks=marks)) as sandbox,
    ):
        seen = []
        for said in ("hi", "so: count “wc”\tlines, then", "hi"):
            await sandbox.ask("chat", messages=[{"role": "user", "content": said}])
            seen.append(sandbox.door.tally().seen)
    assert seen == [frozenset(), {"count “wc”\tlines"}, {"count “wc”\tlines"}]


async def test_what_no_model_answered_was_not_seen(tmp_path: Path) -> None:
    async with Upstream([Step(status=400)]) as provider:
        door = policy("chat", provider.base_url("openai"), marks=frozenset({"mark"}))
        async with opened(tmp_path, door) as sandbox:
            await sandbox.ask("chat", messages=[{"role": "user", "content": "mark"}])
            tally = sandbox.door.tally()
    assert tally.failures
    assert tally.seen == frozenset()


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_real_key_replaces_the_dummy(tmp_path: Path, dialect: str) -> None:
    async with Upstream() as provider, opened(tmp_path, policy(dialect, provider.base_url(_of(dialect)))) as sandbox:
        headers = {
            "x-api-key": sandbox.door.token,
            "Cookie": "a=b",
            "X-Forwarded-For": "1.2.3.4",
            "Host": "evil.example",
        }
        answer = await sandbox.send("POST", PATHS[dialect], json=body(dialect), headers=headers)
        token = sandbox.door.token
    sent = provider.requests[0].headers
    key = sent["x-api-key"] if dialect == "messages" else sent["authorization"].removeprefix("Bearer ")
    assert key == KEY
    assert token not in str(dict(sent))
    assert not {"cookie", "x-forwarded-for"} & sent.keys()
    assert sent["host"].startswith("127.0.0.1:")
    assert ("authorization" in sent) is (dialect != "messages")
    assert KEY not in answer.text
    assert KEY not in str(answer.headers)


async def test_only_harmless_headers_pass_either_way(tmp_path: Path) -> None:
    step = Step(headers={"Set-Cookie": "s=1", "request-id": "req_9", "Server": "x", "openai-organization": "acme"})
    async with (
        Upstream([step]) as provider,
        opened(tmp_path, policy("messages", provider.base_url("anthropic"))) as sandbox,
    ):
        theirs = {"anthropic-beta": "b1", "anthropic-version": "2024-01-01", "x-stainless-lang": "js", "x-app": "cli"}
        answer = await sandbox.send(
            "POST", "/v1/messages?beta=true&x=1", json=body("messages"), headers={**theirs, "openai-organization": "o"}
        )
    sent = provider.requests[0]
    assert theirs.items() <= sent.headers.items()
    assert "openai-organization" not in sent.headers
    assert sent.path == "/v1/messages?beta=true"
    assert not {"set-cookie", "openai-organization", "request-id"} & answer.headers.keys()


@pytest.mark.parametrize("path", ["/responses", "/v1/responses", "/chat/completions", "/v1/chat/completions"])
async def test_both_forms_of_an_address_work(tmp_path: Path, path: str) -> None:
    dialect = "chat" if "chat" in path else "responses"
    async with Upstream() as provider, opened(tmp_path, policy(dialect, provider.base_url("openai"))) as sandbox:
        answer = await sandbox.send("POST", path, json=body(dialect))
    assert answer.status == 200
    assert provider.requests[0].path == "/v1/" + path.removeprefix("/v1").removeprefix("/")


async def test_streams_pass_as_they_come(tmp_path: Path) -> None:
    """The first bytes are there while the provider is still sending the rest."""
    async with (
        Upstream([Step(pause_s=0.05)]) as provider,
        opened(tmp_path, policy("messages", provider.base_url("anthropic"))) as sandbox,
    ):
        first = await _first_chunk(sandbox)
        assert b"message_start" in first
        assert b"message_stop" not in first
        assert provider.running == 1


async def _first_chunk(sandbox: Client) -> bytes:
    headers = {"x-api-key": sandbox.door.token}
    url = f"http://door{PATHS['messages']}"
    async with sandbox.session.post(url, json=body("messages", stream=True), headers=headers) as response:
        return await response.content.readany()


def _ids_off(stream: bytes) -> bytes:
    return re.sub(rb"msg_\d+", b"msg", stream)


def _of(dialect: str) -> str:
    return "anthropic" if dialect == "messages" else "openai"
