"""What a door refuses, and how it says so: a policy, in the client's dialect, with nothing sent upstream."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import io
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.gateway import door as door_module
from sandboxes.gateway import requests as requests_module
from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.cleaning import clean
from sandboxes.gateway.dialects import Dialect, Refusal
from sandboxes.gateway.ledger import NOTES
from sandboxes.gateway.policy import Caps
from sandboxes.gateway.relay import reserve_for
from sandboxes.gateway.requests import read_json
from tests.support.gateway import DIALECTS, KEY, PATHS, PROVIDERS, Answer, Client, body, opened, policy
from tests.support.streams import to_the_end
from tests.support.upstream import Upstream
from tests.support.waiting import PATIENCE_S, until
from tests.support.wire import Step

FINAL = {"openai": 400, "anthropic": 410}


def said(answer: Answer) -> str:
    error = json.loads(answer.content)["error"]
    return str(error["message"])


async def refused(
    tmp_path: Path, dialect: str, status: int, what: str, *, bounds: Bounds | None = None, **options: Any
) -> Answer:
    """Sends a request that must be refused; checks all that holds for every refusal."""
    provider = PROVIDERS[dialect]
    async with (
        Upstream() as server,
        opened(tmp_path, policy(dialect, server.base_url(provider)), bounds=bounds) as sandbox,
    ):
        options.setdefault("method", "POST")
        options.setdefault("path", PATHS[dialect])
        answer = await sandbox.send(options.pop("method"), options.pop("path"), **options)
        tally = sandbox.door.tally()
    assert server.requests == []
    assert answer.status == status
    assert answer.headers["x-should-retry"] == "false"
    assert said(answer).startswith("honed policy: ")
    assert "retrying will not help" in said(answer)
    assert (json.loads(answer.content).get("type") == "error") is (provider == "anthropic")
    assert tally.refusals == (what,)
    assert (tally.usage.requests, tally.usage.tokens, tally.failures, tally.last_request_failed) == (0, 0, (), False)
    return answer


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_another_model_is_refused_and_both_are_named(tmp_path: Path, dialect: str) -> None:
    status = FINAL[PROVIDERS[dialect]]
    answer = await refused(tmp_path, dialect, status, "model: big", json=body(dialect, model="big"))
    assert "'m'" in said(answer)
    assert "'big'" in said(answer)


@pytest.mark.parametrize("model", [None, 5, ["m"], {"m": 1}, "M", "m "])
async def test_a_model_is_its_exact_name(tmp_path: Path, model: Any) -> None:
    await refused(tmp_path, "chat", 400, f"model: {model}", json=body("chat", model=model))


@pytest.mark.parametrize("token", ["", "wrong", KEY, "honed-dummy-" + "0" * 32])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_only_the_doors_own_token_opens_it(tmp_path: Path, dialect: str, token: str) -> None:
    await refused(tmp_path, dialect, 401, "token", json=body(dialect), token=token)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/files"),
        ("POST", "/v1/embeddings"),
        ("GET", "/v1/responses"),
        ("GET", "/v1/responses/resp_1"),
        ("DELETE", "/v1/responses"),
        ("POST", "/v1/responses/compact"),
        ("POST", "/v1/v1/responses"),
        ("POST", "/v1/chat/completions/"),
        ("POST", "/v1/../admin"),
        ("POST", "//v1/responses"),
        ("PUT", "/"),
    ],
)
async def test_other_paths_are_refused(tmp_path: Path, method: str, path: str) -> None:
    async with Upstream() as server, opened(tmp_path, policy("responses", server.base_url("openai"))) as sandbox:
        answer = await sandbox.send(method, path, json=body("responses"))
        tally = sandbox.door.tally()
    assert answer.status == 403
    assert tally.refusals[0].startswith("path: /")
    assert server.requests == []


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("responses", "messages"), ("chat", "messages"), ("messages", "chat"), ("messages", "responses")],
)
async def test_the_other_providers_dialect_is_refused(tmp_path: Path, mine: str, theirs: str) -> None:
    async with Upstream() as server, opened(tmp_path, policy(mine, server.base_url(PROVIDERS[mine]))) as sandbox:
        answer = await sandbox.ask(theirs)
        tally = sandbox.door.tally()
    assert answer.status == FINAL[PROVIDERS[theirs]]
    assert tally.refusals == (f"dialect: {theirs}",)
    assert server.requests == []


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "body: not JSON"),
        (b"{", "body: not JSON"),
        (b"\xff\xfe", "body: not JSON"),
        (b"[" * 200_000, "body: not JSON"),
        (b"[]", "body: not an object"),
        (b'"m"', "body: not an object"),
    ],
)
async def test_bodies_that_are_no_requests(tmp_path: Path, data: bytes, what: str) -> None:
    await refused(tmp_path, "responses", 400, what, data=data)


async def test_gzip_is_read_and_other_encodings_are_refused(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(body("responses")).encode())
    async with Upstream() as server, opened(tmp_path, policy("responses", server.base_url("openai"))) as sandbox:
        headers = {"Content-Encoding": "gzip"}
        answer = await sandbox.send("POST", PATHS["responses"], data=packed, headers=headers)
        assert answer.status == 200
        assert server.requests[0].body["model"] == "m"
        assert "content-encoding" not in server.requests[0].headers
    zstd = {"Content-Encoding": "zstd"}
    await refused(tmp_path, "responses", 415, "encoding: zstd", data=packed, headers=zstd)
    for broken in (b"not gzip", packed[:-9]):
        await refused(tmp_path, "responses", 400, "body: bad gzip", data=broken, headers=headers)


async def test_bodies_are_bounded_also_when_packed(tmp_path: Path) -> None:
    small = Bounds(body_bytes=1000)
    await refused(tmp_path, "messages", 413, "body: too large", data=b" " * 1001, bounds=small)
    bomb = gzip.compress(b" " * 1_000_000)
    assert len(bomb) < 1000 + 200
    packed = {"Content-Encoding": "gzip"}
    await refused(
        tmp_path, "messages", 413, "body: too large", data=bomb, headers=packed, bounds=Bounds(body_bytes=2000)
    )


async def test_big_bodies_pass(tmp_path: Path) -> None:
    big = "x" * 9_000_000
    async with Upstream() as server, opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox:
        request = json.dumps(body("messages", messages=[{"role": "user", "content": big}])).encode()
        answer = await sandbox.send("POST", PATHS["messages"], data=io.BytesIO(request))
    assert answer.status == 200
    assert server.requests[0].body["messages"][0]["content"] == big


async def test_a_body_that_never_comes_is_given_up(tmp_path: Path) -> None:
    short = Bounds(body_s=0.05)
    async with (
        Upstream() as server,
        opened(tmp_path, policy("chat", server.base_url("openai")), bounds=short) as sandbox,
    ):
        reader, writer = await asyncio.open_unix_connection(str(sandbox.door.socket))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {sandbox.door.token}\r\n"
        writer.write(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in await reader.readline()
        writer.close()
        assert sandbox.door.tally().refusals == ("body: too slow",)


async def test_harmless_questions_are_answered_here(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox:
        hello = await sandbox.send("HEAD", "/api/hello", token="")
        models = await sandbox.send("GET", "/v1/models?limit=1")
        tally = sandbox.door.tally()
    assert (hello.status, models.status) == (200, 200)
    assert [entry["id"] for entry in json.loads(models.content)["data"]] == ["m"]
    assert server.requests == []
    assert tally.refusals == ()


async def test_counting_tokens_is_free_but_under_the_same_rules(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox:
        path = "/v1/messages/count_tokens?beta=true"
        request = {"model": "m", "messages": [], "inference_geo": "us"}
        answer = await sandbox.send("POST", path, json=request)
        other = await sandbox.send("POST", path, json={**request, "model": "n"})
        tally = sandbox.door.tally()
    assert json.loads(answer.content) == {"input_tokens": 1234}
    assert other.status == 410
    assert tally.usage.tokens == 0
    assert tally.removed_tools == ("field: inference_geo",)


async def test_what_was_removed_is_told_once(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("responses", server.base_url("openai"))) as sandbox:
        for _ in range(3):
            await sandbox.ask("responses", background=False, no_such=1)
        tally = sandbox.door.tally()
    assert tally.removed_tools == ("field: background", "field: no_such")
    assert not {"background", "no_such"} & server.requests[0].body.keys()


async def test_an_agent_that_asks_for_ever_does_not_fill_our_memory(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        for _ in range(300):
            await sandbox.send("POST", "/v1/nope")
        assert len(sandbox.door.tally().refusals) == 200


async def test_a_body_that_would_grow_when_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests_module, "BODY_PARTS", 100)
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        fits = await sandbox.ask("chat", metadata={"a": [0] * 80})
        too_many = await sandbox.ask("chat", metadata={"a": [0] * 101})
        refusals = sandbox.door.tally().refusals
    assert (fits.status, too_many.status, refusals) == (200, 413, ("body: too many parts",))


async def test_a_body_is_not_held_twice_while_it_is_relayed(tmp_path: Path) -> None:
    class Marked(dict[str, Any]):
        """A parsed body that can be watched."""

    alive: list[weakref.ref[Marked]] = []

    async def read(*given: Any, **options: Any) -> Marked:
        body = Marked(await read_json(*given, **options))
        alive.append(weakref.ref(body))
        return body

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(door_module, "read_json", read)
        async with (
            Upstream([Step(hang_s=0.3)]) as server,
            opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox,
        ):
            asked = asyncio.create_task(sandbox.ask("chat"))
            await until(lambda: server.requests)
            assert [ref() for ref in alive] == [None]
            assert (await asked).status == 200


async def test_a_cap_is_noted_however_much_was_refused_before(tmp_path: Path) -> None:
    only_one = policy("chat", "http://127.0.0.1:9/v1", caps=Caps(requests=0))
    async with opened(tmp_path, only_one) as sandbox:
        for _ in range(NOTES + 5):
            await sandbox.send("POST", "/v1/nope")
        for _ in range(2):
            await sandbox.ask("chat")
        refusals = sandbox.door.tally().refusals
    assert refusals[NOTES:] == ("cap: requests",)


@pytest.mark.parametrize(
    "messages",
    ["[" * 700 + "]" * 700, '[{"content":' * 450 + "1" + "}]" * 450, '[{"source":{"type":[]}}]'],
    ids=["deep lists", "deep blocks", "a type that is none"],
)
async def test_what_an_agent_sends_is_never_our_fault(tmp_path: Path, messages: str) -> None:
    raw = f'{{"model":"m","max_tokens":1{"0" * 4000},"messages":{messages}}}'
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        await sandbox.send("POST", PATHS["chat"], data=raw)
        assert sandbox.door.tally().failures == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                "type tools tool_choice content source image_url url file file_id name role environment".split()
            )
            | st.text(max_size=3),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(dialect=st.sampled_from(Dialect), messages=JSON, tools=JSON, choice=JSON)
def test_any_json_can_be_cleaned_and_reserved_for(dialect: Dialect, messages: Any, tools: Any, choice: Any) -> None:
    request = {"messages": messages, "input": messages, "tools": tools, "tool_choice": choice, "n": choice}
    with contextlib.suppress(Refusal):
        removed = clean(dialect, request, frozenset())
        assert all(isinstance(name, str) for name in removed)
    json.dumps(request)
    assert reserve_for(dialect, {"n": choice, "max_tokens": choice}, b"x" * 100).input in {0, 2100}


async def test_a_fault_of_ours_is_told_as_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr(door_module, "clean", broken)
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        answer = await sandbox.ask("chat")
        tally = sandbox.door.tally()
    assert answer.status == 400
    assert KEY not in answer.text
    assert tally.last_request_failed
    assert "ZeroDivisionError at test_requests.py" in tally.last_failure


async def test_many_connections_do_not_use_up_ours(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox:
        held = [await asyncio.open_unix_connection(str(sandbox.door.socket)) for _ in range(64)]
        reader, writer = await asyncio.open_unix_connection(str(sandbox.door.socket))
        assert await to_the_end(reader) == b""
        writer.close()
        for _, each in held:
            each.close()
        await _until_served(sandbox)


async def _until_served(sandbox: Client) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                assert (await sandbox.ask("chat")).status == 200
            except OSError:
                await asyncio.sleep(0.01)
            else:
                return
