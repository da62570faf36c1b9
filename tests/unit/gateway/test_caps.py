"""Caps are exact to one request, one after another and side by side."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from sandboxes.gateway.dialects import Refusal
from sandboxes.gateway.ledger import Ledger, Reserve
from sandboxes.gateway.policy import Caps, DoorPolicy, ProviderFailure, Tally, Usage
from sandboxes.gateway.policy import Upstream as Target
from sandboxes.gateway.usage import Counts
from tests.support.gateway import DIALECTS, PRICE, PROVIDERS, opened, policy
from tests.support.upstream import Upstream
from tests.support.waiting import until
from tests.support.wire import Step


async def spend(tmp_path: Path, dialect: str, caps: Caps, step: Step, asks: int) -> tuple[list[int], Tally, str]:
    base = PROVIDERS[dialect]
    async with (
        Upstream([step]) as server,
        opened(tmp_path, policy(dialect, server.base_url(base), caps=caps)) as sandbox,
    ):
        answers = [await sandbox.ask(dialect, stream=True) for _ in range(asks)]
        return [answer.status for answer in answers], sandbox.door.tally(), answers[-1].text


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_request_after_the_cap_is_refused(tmp_path: Path, dialect: str) -> None:
    no = 410 if dialect == "messages" else 400
    statuses, tally, said = await spend(tmp_path, dialect, Caps(requests=2), Step(), 4)
    assert statuses == [200, 200, no, no]
    assert tally.refusals == ("cap: requests",) * 2
    assert "honed policy: this attempt's request cap (2) is reached; retrying will not help" in said

    statuses, tally, said = await spend(tmp_path, dialect, Caps(tokens=2100), Step(), 3)  # 1050 each
    assert statuses == [200, 200, no]
    assert (tally.usage.tokens, tally.refusals) == (2100, ("cap: tokens",))
    assert "token cap (2100)" in said

    statuses, tally, said = await spend(tmp_path, dialect, Caps(usd=0.0026), Step(), 3)  # 0.00132 each
    assert statuses == [200, 200, no]
    assert tally.refusals == ("cap: usd",)
    assert "money cap (0.0026 USD)" in said


async def test_a_money_cap_without_a_price_refuses_everything(tmp_path: Path) -> None:
    async with Upstream() as server:
        door = policy("chat", server.base_url("openai"), caps=Caps(usd=9.0), price=None)
        async with opened(tmp_path, door) as sandbox:
            answer = await sandbox.ask("chat")
    assert answer.status == 400
    assert "no known price" in answer.text
    assert server.requests == []


async def test_without_a_price_tokens_count_and_money_is_unknown(tmp_path: Path) -> None:
    async with Upstream() as server, opened(tmp_path, policy("chat", server.base_url("openai"), price=None)) as sandbox:
        await sandbox.ask("chat")
        assert sandbox.door.tally().usage == Usage(1, 1000, 200, 50, None)


@pytest.mark.parametrize("caps", [Caps(tokens=2100), Caps(usd=0.0026), Caps(requests=2)])
async def test_requests_side_by_side_do_not_overshoot(tmp_path: Path, caps: Caps) -> None:
    async with (
        Upstream([Step(hang_s=0.02)]) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"), caps=caps)) as sandbox,
    ):
        answers = await asyncio.gather(*(sandbox.ask("messages", max_tokens=8000) for _ in range(12)))
    assert sorted(answer.status for answer in answers) == [200] * 2 + [410] * 10
    assert len(server.requests) == 2


async def test_requests_side_by_side_run_together_while_they_fit(tmp_path: Path) -> None:
    async with (
        Upstream(at_once=6) as server,
        opened(tmp_path, policy("messages", server.base_url("anthropic"))) as sandbox,
    ):
        answers = await asyncio.gather(*(sandbox.ask("messages") for _ in range(6)))
    assert {answer.status for answer in answers} == {200}
    assert server.most_running == 6


async def test_cutting_a_stream_short_is_no_way_around_a_cap(tmp_path: Path) -> None:
    """The client hangs up after the first bytes, again and again: it is charged for what the bytes suggest."""
    step = Step(text="word " * 2000, pause_s=0.01)
    caps = Caps(tokens=5000)
    async with (
        Upstream([step]) as server,
        opened(tmp_path, policy("responses", server.base_url("openai"), caps=caps)) as sandbox,
    ):
        statuses = []
        for _ in range(60):
            body = {"model": "m", "stream": True, "input": [{"role": "user", "content": "x" * 4000}]}
            headers = {"authorization": f"Bearer {sandbox.door.token}"}
            async with sandbox.session.post("http://d/v1/responses", json=body, headers=headers) as answer:
                await answer.content.readany()
                statuses.append(answer.status)
            await until(lambda: server.running == 0 and sandbox.door.tally().waiting_s == 0)
            if answer.status == 400:
                break
    assert statuses[-1] == 400
    assert len(statuses) <= 6


async def test_an_answer_without_usage_is_estimated(tmp_path: Path) -> None:
    step = Step(text="w" * 4000, no_usage=True)
    for dialect in DIALECTS:
        _, tally, _ = await spend(tmp_path, dialect, Caps(), step, 1)
        assert 1000 <= tally.usage.output_tokens <= 4000
        assert 5 <= tally.usage.input_tokens <= 100


def ledger(caps: Caps) -> Ledger:
    return Ledger(DoorPolicy(Target("openai", "http://h", SecretStr("k")), "m", caps=caps, price=PRICE))


async def test_a_request_that_may_not_fit_waits_and_then_goes_if_it_does() -> None:
    book = ledger(Caps(tokens=1000))
    first = await book.admit(Reserve(100, 800))
    waiting = asyncio.create_task(book.admit(Reserve(100, 800)))
    await asyncio.sleep(0)
    assert not waiting.done()
    await book.settle(first, Counts(100, 0, 10), answered=True)
    second = await waiting
    last = asyncio.create_task(book.admit(Reserve(1, 1)))
    await book.settle(second, Counts(100, 0, 790), answered=True)
    with pytest.raises(Refusal, match=r"token cap \(1000\) is reached"):
        await last
    assert book.tally.usage.tokens == 1000


async def test_a_single_request_always_goes_while_anything_is_left() -> None:
    book = ledger(Caps(tokens=10))
    ticket = await book.admit(Reserve(5000, 128_000))
    usage = await book.settle(ticket, Counts(7, 0, 1), answered=True)
    assert usage.tokens == 8


async def test_failed_requests_cost_nothing_but_count_against_the_request_cap() -> None:
    book = ledger(Caps(requests=1))
    await book.settle(await book.admit(Reserve(1, 1)), None, answered=False)
    assert book.tally.usage == Usage()
    with pytest.raises(Refusal):
        await book.admit(Reserve(1, 1))


async def test_silence_is_told_while_it_lasts(tmp_path: Path) -> None:
    answer = asyncio.Event()
    async with (
        Upstream([Step(hold=answer)]) as server,
        opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox,
    ):
        asked = asyncio.create_task(sandbox.ask("chat"))
        await until(lambda: sandbox.door.tally().waiting_s > 0)
        told = sandbox.door.tally().waiting_s
        await until(lambda: sandbox.door.tally().waiting_s > told)
        assert sandbox.door.tally().usage.requests == 0
        answer.set()
        assert json.loads((await asked).content)["usage"]
        assert sandbox.door.tally().waiting_s == 0


async def test_the_time_that_retries_take_is_told(tmp_path: Path) -> None:
    refused = Step(status=429, body={}, headers={"retry-after": "7"})
    async with (
        Upstream([refused, Step()]) as server,
        opened(tmp_path, policy("chat", server.base_url("openai"))) as sandbox,
    ):
        await sandbox.ask("chat")
        tally = sandbox.door.tally()
    assert (tally.retries, tally.held_up_by, tally.failures) == (1, ProviderFailure.RATE_LIMIT, ())
    assert 7.0 <= tally.held_up_s < 14.0, "once, and what it really took"
