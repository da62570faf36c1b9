"""Providers that fail: tried again while it helps, then told once, in a way that the sandbox's CLI does not repeat."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.gateway.upstream import Waits
from tests.support.gateway import DIALECTS, KEY, PROVIDERS, Answer, Sleeps, body, opened, policy, target
from tests.support.ports import refusing_port
from tests.support.upstream import Upstream
from tests.support.waiting import LONGER_S, until
from tests.support.wire import Step

F = ProviderFailure
FINAL = {"openai": 400, "anthropic": 410}
NOW = 1_700_000_000.0


def waits(sleeps: Sleeps | None = None, **changes: Any) -> Waits:
    return Waits(rng=random.Random(5), sleep=sleeps or Sleeps(), clock=lambda: NOW, **changes)


async def ask(
    tmp_path: Path,
    dialect: str,
    steps: list[Step],
    *,
    sleeps: Sleeps | None = None,
    stream: bool = True,
    idle_s: float = 5.0,
    **upstream: Any,
) -> tuple[Answer, Tally, Upstream]:
    provider = PROVIDERS[dialect]
    async with Upstream(steps) as server:
        door = policy(dialect, "", upstream=target(provider, server.base_url(provider), **upstream))
        async with opened(tmp_path, door, waits=waits(sleeps, idle_s=idle_s)) as sandbox:
            answer = await sandbox.ask(dialect, stream=stream)
            return answer, sandbox.door.tally(), server


def error(dialect: str, message: str, code: str) -> dict[str, Any]:
    if dialect == "messages":
        return {"type": "error", "error": {"type": code, "message": message}}
    return {"error": {"message": message, "type": "x", "code": code}}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_passing_trouble_is_not_seen_by_the_sandbox(tmp_path: Path, dialect: str, status: int) -> None:
    answer, tally, server = await ask(tmp_path, dialect, [Step(status=status, body={}), Step(text="well")])
    assert answer.status == 200
    assert "well" in answer.text
    assert len(server.requests) == 2
    assert server.requests[0].body == server.requests[1].body
    assert (tally.retries, tally.failures, tally.last_request_failed, tally.usage.requests) == (1, (), False, 1)


FOREVER = [
    (401, "nope", "x", F.AUTH, 1),
    (403, "nope", "x", F.AUTH, 1),
    (402, "pay", "x", F.QUOTA, 1),
    (404, "model: m", "not_found_error", F.MODEL_NOT_FOUND, 1),
    (429, "slow", "rate_limit_error", F.RATE_LIMIT, 3),
    (429, "quota", "insufficient_quota", F.QUOTA, 1),
    (500, "boom", "api_error", F.SERVER_ERROR, 3),
    (503, "", "", F.OVERLOADED, 3),
    (529, "", "overloaded_error", F.OVERLOADED, 3),
    (307, "", "", F.BAD_REQUEST, 1),
]


@pytest.mark.parametrize(("status", "message", "code", "kind", "requests"), FOREVER)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_lasting_trouble_is_told_once(
    tmp_path: Path, dialect: str, status: int, message: str, code: str, kind: ProviderFailure, requests: int
) -> None:
    step = Step(status=status, body=error(dialect, message, code), headers={"Location": "http://127.0.0.1:9/"})
    answer, tally, server = await ask(tmp_path, dialect, [step])
    assert answer.status == FINAL[PROVIDERS[dialect]]
    assert answer.headers["x-should-retry"] == "false"
    assert len(server.requests) == requests
    assert (tally.failures, tally.retries, tally.last_request_failed) == ((kind,), requests - 1, True)
    assert tally.last_failure.startswith(f"{PROVIDERS[dialect]} at 127.0.0.1:")
    assert str(status) in tally.last_failure
    assert "HONED_TEST_KEY" in tally.last_failure or kind is F.MODEL_NOT_FOUND
    assert tally.usage.tokens == 0


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_a_provider_says_about_the_request_itself_is_passed_on(tmp_path: Path, dialect: str) -> None:
    """CLIs act on it: a context that is too long is compacted, a beta that is refused is left out."""
    for message, kind in (("prompt is too long: 9 > 8", F.CONTEXT_LENGTH), ("tools.0: bad", F.BAD_REQUEST)):
        said = error(dialect, message, "invalid_request_error")
        answer, tally, _ = await ask(tmp_path, dialect, [Step(status=400, body=said)])
        assert answer.status == 400
        told = json.loads(answer.content)
        assert said["error"].items() <= told["error"].items()
        assert told.get("type") == said.get("type")
        assert tally.failures == (kind,)


async def test_success_after_failure_is_success(tmp_path: Path) -> None:
    async with (
        Upstream([Step(status=401, body={}), Step()]) as server,
        opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox,
    ):
        await sandbox.ask("chat")
        assert sandbox.door.tally().last_request_failed
        await sandbox.ask("chat")
        tally = sandbox.door.tally()
    assert (tally.failures, tally.last_request_failed) == ((F.AUTH,), False)


async def test_waits_as_the_provider_asks_within_the_budget(tmp_path: Path) -> None:
    sleeps = Sleeps()
    steps = [
        Step(status=429, body={}, headers={"Retry-After": "11"}),
        Step(status=429, body={}, headers={"retry-after-ms": "2500"}),
        Step(),
    ]
    answer, tally, _ = await ask(tmp_path, "messages", steps, sleeps=sleeps)
    assert answer.status == 200
    assert 11 <= sleeps.asked[0] <= 11.5
    assert 2.5 <= sleeps.asked[1] <= 3
    assert tally.retries == 2

    sleeps = Sleeps()
    steps = [Step(status=529, body={}, headers={"Retry-After": "31"})]
    answer, _, server = await ask(tmp_path, "messages", steps, sleeps=sleeps)
    assert (answer.status, sleeps.asked, len(server.requests)) == (410, [], 1)


async def test_a_provider_that_says_do_not_retry_is_not_asked_again(tmp_path: Path) -> None:
    step = Step(status=500, body={}, headers={"x-should-retry": "false"})
    _, tally, server = await ask(tmp_path, "chat", [step])
    assert (len(server.requests), tally.failures) == (1, (F.SERVER_ERROR,))


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_unreachable(tmp_path: Path, dialect: str) -> None:
    sleeps = Sleeps()
    with refusing_port() as port:
        upstream = target(PROVIDERS[dialect], f"http://127.0.0.1:{port}/v1")
        async with opened(tmp_path, policy(dialect, "", upstream=upstream), waits=waits(sleeps)) as sandbox:
            answer = await sandbox.ask(dialect)
            tally = sandbox.door.tally()
    assert answer.status == FINAL[PROVIDERS[dialect]]
    assert (tally.failures, len(sleeps.asked)) == ((F.UNREACHABLE,), 2)
    assert f"127.0.0.1:{port}: unreachable (3 tries; connection refused): check base_url" in tally.last_failure


async def test_an_address_that_is_none_is_a_failure_not_a_crash(tmp_path: Path) -> None:
    for base_url in ("http://[bad", "ftp://127.0.0.1/", "nonsense"):
        upstream = target("openai", base_url, tries=1)
        async with opened(tmp_path, policy("chat", "", upstream=upstream)) as sandbox:
            answer = await sandbox.ask("chat")
            assert (answer.status, sandbox.door.tally().failures) == (400, (F.UNREACHABLE,))


async def test_plain_http_is_not_spoken_to_an_https_address_and_certificates_are_checked(tmp_path: Path) -> None:
    async with Upstream() as server:
        upstream = target("openai", server.base_url("openai").replace("http:", "https:"), tries=1)
        async with opened(tmp_path, policy("chat", "", upstream=upstream)) as sandbox:
            assert (await sandbox.ask("chat")).status == 400
            assert sandbox.door.tally().failures == (F.UNREACHABLE,)
    assert server.requests == []


@pytest.mark.parametrize("stream", [True, False])
async def test_a_silent_provider_is_asked_twice(tmp_path: Path, stream: bool) -> None:
    for timeout_s in (0.5, *LONGER_S):
        hangs = [Step(hang_s=1_000)]
        answer, tally, server = await ask(tmp_path, "messages", hangs, stream=stream, timeout_s=timeout_s)
        if len(server.requests) == 2:
            break  # both came before their time was over
    assert (answer.status, tally.failures, len(server.requests)) == (410, (F.TIMEOUT,), 2)


@pytest.mark.parametrize(
    ("dialect", "failed"),
    [
        ("responses", {"code": "server_error", "message": "x"}),
        ("chat", {"code": "rate_limit_exceeded", "message": "x"}),
        ("messages", {"type": "overloaded_error", "message": "x"}),
    ],
)
async def test_an_error_at_the_head_of_a_stream_is_tried_again(
    tmp_path: Path, dialect: str, failed: dict[str, str]
) -> None:
    answer, tally, server = await ask(tmp_path, dialect, [Step(failed=failed), Step(text="well")])
    assert answer.status == 200
    assert failed.get("code", "overloaded_error") not in answer.text
    assert (tally.retries, tally.failures, len(server.requests)) == (1, (), 2)


async def test_a_lasting_error_inside_a_stream_is_passed_on_and_named(tmp_path: Path) -> None:
    failed = {"code": "context_length_exceeded", "message": "too long"}
    answer, tally, server = await ask(tmp_path, "responses", [Step(failed=failed)])
    assert answer.status == 200
    assert "context_length_exceeded" in answer.text
    assert (tally.failures, tally.last_request_failed, len(server.requests)) == ((F.CONTEXT_LENGTH,), True, 1)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_cut_stream_is_passed_on_as_cut(tmp_path: Path, dialect: str) -> None:
    provider = PROVIDERS[dialect]
    async with (
        Upstream([Step(drop_after=2)]) as server,
        opened(tmp_path, policy(dialect, server.base_url(provider)), waits=waits()) as sandbox,
    ):
        with pytest.raises(aiohttp.ClientError):
            await sandbox.ask(dialect, stream=True)
        tally = sandbox.door.tally()
    if dialect == "chat":  # its second event is already the end of the text
        return
    assert (tally.failures, tally.last_request_failed) == ((F.CUT_STREAM,), True)
    assert tally.usage.requests == 1
    assert tally.usage.output_tokens > 0
    assert len(server.requests) == 1


async def test_a_stream_that_ends_politely_but_early_is_cut_all_the_same(tmp_path: Path) -> None:
    raw = b'event: message_start\ndata: {"type": "message_start", "message": {}}\n\n'
    async with (
        Upstream([Step(raw=raw)]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox,
    ):
        with pytest.raises(aiohttp.ClientError):
            await sandbox.ask("messages", stream=True)
        assert sandbox.door.tally().failures == (F.CUT_STREAM,)


async def test_an_answer_cut_before_it_began_is_tried_again(tmp_path: Path) -> None:
    steps = [Step(drop_after=1), Step(raw=b""), Step(text="well")]
    answer, tally, server = await ask(tmp_path, "responses", steps)
    assert "well" in answer.text
    assert (tally.retries, len(server.requests)) == (2, 3)
    answer, tally, _ = await ask(tmp_path, "responses", [Step(drop_after=30), Step(text="well")], stream=False)
    assert "well" in answer.text
    assert tally.retries == 1


async def test_silence_in_the_middle_of_a_stream(tmp_path: Path) -> None:
    async with (
        Upstream([Step(pause_s=1.0)]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic")), waits=waits(idle_s=0.1)) as sandbox,
    ):
        with pytest.raises(aiohttp.ClientError):
            await sandbox.ask("messages", stream=True)
        assert sandbox.door.tally().failures == (F.TIMEOUT,)


@pytest.mark.parametrize("raw", [b"<html>portal</html>", b"", b'{"id": '])
async def test_an_answer_that_is_none(tmp_path: Path, raw: bytes) -> None:
    answer, tally, server = await ask(tmp_path, "chat", [Step(raw=raw)], stream=False)
    assert (answer.status, tally.failures, len(server.requests)) == (400, (F.BAD_REPLY,), 3)


@pytest.mark.parametrize("split", [1, 7, 33])
async def test_slices_of_any_size_are_counted(tmp_path: Path, split: int) -> None:
    for dialect in DIALECTS:
        answer, tally, _ = await ask(tmp_path, dialect, [Step(text="é" * 9, split=split)])
        assert answer.status == 200
        assert (tally.usage.input_tokens, tally.usage.output_tokens) == (1000, 50)


async def test_the_real_key_never_comes_back(tmp_path: Path) -> None:
    echo = json.dumps({"text": f"you sent {KEY}", "again": KEY}).encode()
    cases = [
        Step(status=400, body={"error": {"message": f"bad {KEY}", "type": "x"}}),
        Step(status=401, body={"error": {"message": f"Incorrect API key provided: {KEY[:9]}***{KEY[-4:]}"}}),
        Step(status=500, body=KEY.encode()),
        Step(status=404, body={"error": {"message": f"model {KEY}"}}, headers={"request-id": "r"}),
        Step(raw=echo),
        Step(text=f"key {KEY}", failed={"code": "invalid_prompt", "message": KEY}),
        Step(text=f"key {KEY} {KEY[:10]}", split=3),
        Step(text=KEY, split=1),
    ]
    for dialect in ("responses", "messages"):
        for step in cases:
            stream = step.raw is None
            answer, tally, _ = await ask(tmp_path, dialect, [step], stream=stream)
            seen = answer.text + str(answer.headers) + repr(tally)
            assert KEY not in seen
            assert f"***{KEY[-4:]}" not in seen


async def test_only_so_many_requests_go_to_a_provider_at_once(tmp_path: Path) -> None:
    async with Upstream(at_once=2) as server:
        door = policy("messages", server.base_url("anthropic"))
        async with opened(tmp_path, door, concurrency=2) as sandbox:
            answers = await asyncio.gather(*(sandbox.ask("messages") for _ in range(7)))
    assert {answer.status for answer in answers} == {200}
    assert server.most_running == 2


async def test_waiting_between_tries_holds_no_slot(tmp_path: Path) -> None:
    released = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await released.wait()

    async with Upstream([Step(status=500, body={}), Step(text="other"), Step(text="first")]) as server:
        door = policy("chat", server.base_url("openai"))
        patient = Waits(rng=random.Random(1), sleep=sleep)
        async with opened(tmp_path, door, waits=patient, concurrency=1) as sandbox:
            first = asyncio.create_task(sandbox.ask("chat"))
            await until(lambda: server.requests)
            other = await sandbox.ask("chat")
            released.set()
            assert "other" in other.text
            assert "first" in (await first).text


async def test_a_client_that_leaves_is_no_failure_of_the_provider(tmp_path: Path) -> None:
    async with (
        Upstream([Step(pause_s=0.02)]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox,
    ):
        headers = {"x-api-key": sandbox.door.token}
        request = body("messages", stream=True)
        async with sandbox.session.post("http://d/v1/messages", json=request, headers=headers) as answer:
            await answer.content.readany()
        await until(lambda: sandbox.door.tally().usage.requests)
        tally = sandbox.door.tally()
        assert (tally.failures, tally.last_request_failed) == ((), False)
        assert tally.usage.input_tokens == 1000
        assert (await sandbox.ask("messages")).status == 200
