"""Caps are exact to one request, whatever runs side by side and whatever the provider says of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.policy import Caps
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import Front, front
from tests.support.gateway import PATHS
from tests.support.upstream import Recorded
from tests.support.wire import Step

CAPS = {"requests": Caps(requests=3), "tokens": Caps(tokens=3_000), "usd": Caps(usd=0.004)}
"""Each is reached by the third answer of 1,050 tokens or 0.00132 dollars, or by the fourth."""
MOST = {"requests": 3, "tokens": 3, "usd": 4}


def at_once(cap: str) -> Attempted:
    async def run(stage: Stage) -> str:
        here = await front(stage, "messages", [Step(hang_s=0.01)], caps=CAPS[cap])
        answers = await asyncio.gather(*(here.ask(max_tokens=9) for _ in range(20)))
        good = sum(answer.status == 200 for answer in answers)
        usage = here.client.door.tally().usage
        seen = f"{good} answered, {20 - good} refused, {usage.tokens} tokens, {usage.usd:.5f} USD"
        return holds(good == here.reached == MOST[cap] and here.refusals == (f"cap: {cap}",) * (20 - good), seen)

    return run


for each in CAPS:
    what = f"asks 20 times at once against the cap on {each}"
    add(Attack(Area.GATEWAY, f"twenty-at-once-{each}", what, "one request crosses it, no more", at_once(each), False))


@attack(
    Area.GATEWAY,
    "declares little and sends texts of one token a letter, 20 at once",
    expected="no more than one request crosses the cap",
)
async def dense_tokens(stage: Stage) -> str:
    def dense(seen: Recorded) -> Step:
        return Step(input_tokens=len(json.dumps(seen.body)), output_tokens=10, hang_s=0.01)

    here = await front(stage, "messages", [dense], caps=Caps(tokens=20_000))
    turns = [{"role": "user", "content": "\u16a0" * 500}]
    await asyncio.gather(*(here.ask(max_tokens=10, messages=turns) for _ in range(20)))
    used = here.client.door.tally().usage
    one = used.tokens // max(1, used.requests)
    seen = f"{used.requests} requests, {used.tokens} tokens of a cap of 20000, {one} each"
    return holds(20_000 <= used.tokens < 20_000 + one, seen)


@attack(
    Area.GATEWAY,
    "asks for eight choices without a bound, 20 at once",
    expected="choices and unbounded output are counted on: no more than one request crosses",
)
async def many_choices(stage: Stage) -> str:
    here = await front(stage, "chat", [Step(output_tokens=100_000, hang_s=0.01)], caps=Caps(tokens=400_000))
    await asyncio.gather(*(here.ask(n=8) for _ in range(20)))
    used = here.client.door.tally().usage
    return holds(used.requests == 4, f"{used.requests} requests, {used.tokens} tokens of a cap of 400000")


LIES: dict[str, Any] = {
    "none": None,
    "negative": {"prompt_tokens": -5, "completion_tokens": -100},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0},
    "fractions": {"prompt_tokens": 0.5, "completion_tokens": 0.25},
    "texts": {"prompt_tokens": "9", "completion_tokens": "9"},
    "not-a-number": {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
    "huge": {"prompt_tokens": 10**30, "completion_tokens": 10**30},
    "lists": {"prompt_tokens": [1], "completion_tokens": {"a": 1}},
    "all-cached": {"prompt_tokens": 0, "prompt_tokens_details": {"cached_tokens": 10**9}, "completion_tokens": 0},
}


async def lied(stage: Stage, usage: Any, *, stream: bool) -> Front:
    answer = {"id": "c", "choices": [{"index": 0, "message": {"content": "w" * 4_000}, "finish_reason": "stop"}]}
    event = {"choices": [{"index": 0, "delta": {"content": "w" * 4_000}, "finish_reason": "stop"}], "usage": usage}
    raw = f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n" if stream else json.dumps({**answer, "usage": usage})
    here = await front(stage, "chat", [Step(raw=raw.encode())], caps=Caps(tokens=2_500))
    for _ in range(10):
        await here.ask(stream=stream)
    return here


def lying(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        told = []
        for stream in (True, False):
            here = await lied(stage, LIES[name], stream=stream)
            used = here.client.door.tally().usage
            held = here.reached == 3 and set(here.refusals) == {"cap: tokens"} and 1_000 < used.output_tokens < 5_000
            told.append(f"{here.reached} requests charged {used.tokens} tokens")
            holds(held, told[-1])
        return f"streamed and whole: {told[0]}, {told[1]}"

    return run


for each in LIES:
    what = f"gets answers whose usage lies ({each.replace('-', ' ')})"
    add(Attack(Area.GATEWAY, f"usage-{each}", what, "charged by size, the cap holds", lying(each), False))


@attack(
    Area.GATEWAY,
    "hangs up at the first byte of each stream, so that no usage comes",
    expected="charged for what was sent and came; the cap is reached",
)
async def streams_cut_short(stage: Stage) -> str:
    here = await front(stage, steps=[Step(text="word " * 2000, pause_s=0.005)], caps=Caps(tokens=5_000))
    asked = 0
    headers = {"authorization": f"Bearer {here.client.door.token}"}
    body = {"model": "m", "stream": True, "input": [{"role": "user", "content": "x" * 8000}]}
    async with asyncio.timeout(60):
        while "cap: tokens" not in here.refusals:
            asked += 1
            url = f"http://d{PATHS['responses']}"
            async with here.client.session.post(url, json=body, headers=headers) as answer:
                await answer.content.readany()
            while here.client.door.tally().waiting_s:
                await asyncio.sleep(0.005)
    return holds(asked <= 4, f"refused at the {asked}th of such requests, {here.reached} at the provider")


@attack(
    Area.GATEWAY,
    "gets a message whose end says nothing of what was written",
    expected="the first count of one token is not believed",
)
async def message_without_its_count(stage: Stage) -> str:
    start: dict[str, Any] = {"type": "message_start", "message": {"usage": {"input_tokens": 50, "output_tokens": 1}}}
    words: dict[str, Any] = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": "w" * 8_000},
    }
    ends: list[dict[str, Any]] = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    raw = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in (start, words, *ends))
    here = await front(stage, "messages", [Step(raw=raw.encode())])
    answer = await here.ask(stream=True)
    used = here.client.door.tally().usage
    return holds(answer.status == 200 and used.output_tokens >= 2_000, f"charged {used.output_tokens} output tokens")


@attack(Area.GATEWAY, "has a money cap and a model of unknown price", expected="refused, nothing sent")
async def money_without_price(stage: Stage) -> str:
    here = await front(stage, caps=Caps(usd=1.0), price=None)
    answer = await here.ask()
    return holds(answer.status == 400 and not here.reached, f"{answer.status}, {here.refusals}")


@attack(
    Area.GATEWAY,
    "takes all places at the provider with answers that it does not read",
    expected="a door has so many places, and leaves the others to other doors",
)
async def places_taken(stage: Stage) -> str:
    here = await front(stage, "messages", [Step(hang_s=30)] * 4 + [Step()], bounds=Bounds(requests=4))
    asked = [asyncio.create_task(here.ask()) for _ in range(12)]
    async with asyncio.timeout(30):
        while here.reached < 4:
            await asyncio.sleep(0.005)
    for _ in range(20):
        await asyncio.sleep(0)
    most = here.provider.most_running
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    return holds(most == 4, f"{most} of 12 requests at the provider at once")
