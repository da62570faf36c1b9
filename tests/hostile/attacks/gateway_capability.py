"""The door's key is the capability: one attempt's own, at its own door, until its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import aiohttp
import structlog

from sandboxes.gateway.proxy import ModelGateway
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import Front, front, says_policy
from tests.support.gateway import KEY, PATHS, Answer, Client, body, policy
from tests.support.streams import to_the_end
from tests.support.upstream import Upstream
from tests.support.wire import Step

WRONG: dict[str, tuple[str, Callable[[str], dict[str, str]]]] = {
    "no-token": ("asks without a key", lambda token: {}),
    "empty-token": ("asks with an empty key", lambda token: {"Authorization": "Bearer "}),
    "token-in-capitals": ("writes the key in capitals", lambda token: {"Authorization": f"Bearer {token.upper()}"}),
    "token-cut-short": ("leaves off the key's last letter", lambda token: {"Authorization": f"Bearer {token[:-1]}"}),
    "token-and-more": ("adds to the key", lambda token: {"x-api-key": f"{token},{token}"}),
    "token-as-basic": ("sends the key as a password", lambda token: {"Authorization": f"Basic {token}"}),
    "token-in-a-cookie": ("sends the key in a cookie", lambda token: {"Cookie": f"x-api-key={token}"}),
    "token-beside-another": (
        "sends a wrong key beside the right one",
        lambda token: {"x-api-key": "wrong", "Authorization": f"Bearer {token}"},
    ),
    "real-key-as-token": ("guesses that the real key opens the door", lambda token: {"x-api-key": KEY}),
    "token-of-other-letters": (
        "writes the key in letters that look the same",
        lambda token: {"x-api-key": token.replace("o", "\u043e")},
    ),
}


async def post(here: Front, headers: dict[str, str], path: str = PATHS["responses"]) -> Answer:
    return await here.client.send("POST", path, token="", headers=headers, json=body("responses"))


def tried(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        here = await front(stage)
        answer = await post(here, WRONG[name][1](here.client.door.token))
        seen = f"{answer.status}, {here.refusals}, {here.reached} requests at the provider"
        return holds(answer.status == 401 and says_policy(answer) and not here.reached, seen)

    return run


for each, (what, _) in WRONG.items():
    add(Attack(Area.GATEWAY, each, what, "401 that says policy, nothing sent", tried(each), False))


@attack(Area.GATEWAY, "sends the key in the query and in the body", expected="401, nothing sent")
async def token_elsewhere(stage: Stage) -> str:
    here = await front(stage)
    token = here.client.door.token
    query = await post(here, {}, f"{PATHS['responses']}?api_key={token}&x-api-key={token}")
    inside = await here.client.send("POST", PATHS["responses"], token="", json={**body("responses"), "api_key": token})
    return holds({query.status, inside.status} == {401} and not here.reached, f"{query.status} and {inside.status}")


@attack(Area.GATEWAY, "sends the key's header twice, once wrong", expected="401, nothing sent")
async def token_twice(stage: Stage) -> str:
    here = await front(stage)
    again = here.head("Authorization: Bearer wrong", f"Content-Length: {len(here.body())}") + b"\r\n" + here.body()
    statuses, _, _ = await here.bytes(again)
    return holds(statuses == [401] and not here.reached, f"answers {statuses}, {here.reached} at the provider")


@attack(
    Area.GATEWAY,
    "uses another attempt's key, while that runs and after its end",
    expected="401 both times, logged with whose key it is",
)
async def token_of_another_attempt(stage: Stage) -> str:
    provider = await stage.stack.enter_async_context(Upstream())
    gateway = ModelGateway(stage.folder / "s")
    stage.stack.push_async_callback(gateway.close)
    door_policy = policy("responses", provider.base_url("openai"))
    mine, other = await gateway.open("mine", door_policy), await gateway.open("other", door_policy)
    session = aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(mine.socket)))
    async with session:
        client = Client(mine, session)
        with structlog.testing.capture_logs() as logs:
            first = await client.send("POST", PATHS["responses"], token=other.token, json=body("responses"))
            await other.close()
            late = await client.send("POST", PATHS["responses"], token=other.token, json=body("responses"))
        right = await client.ask("responses")
    told = [line["key_of"] for line in logs if "key_of" in line]
    seen = f"{first.status} and {late.status}, logged: key of {' and of '.join(told)}; its own key {right.status}"
    held = [first.status, late.status, right.status] == [401, 401, 200] and told == ["other", "other (ended)"]
    return holds(held and len(provider.requests) == 1 and other.token not in str(logs), seen)


@attack(Area.GATEWAY, "asks once more after the attempt's end", expected="no socket any more, kept connections cut")
async def late_request(stage: Stage) -> str:
    here = await front(stage)
    assert (await here.ask()).status == 200
    reader, writer = await asyncio.open_unix_connection(str(here.client.door.socket))
    writer.write(here.head()[:20])
    await writer.drain()
    await here.client.door.close()
    left = await to_the_end(reader)
    writer.close()
    try:
        await here.ask()
        again = "answered"
    except (aiohttp.ClientError, OSError) as error:
        again = type(error).__name__
    seen = f"socket {'there' if here.client.door.socket.exists() else 'gone'}, half-sent: {left!r}, new: {again}"
    return holds(again != "answered" and not left and not here.client.door.socket.exists() and here.reached == 1, seen)


@attack(
    Area.GATEWAY,
    "pipelines requests into a door that is just closing, behind one that still runs",
    expected="running one cut, charged and logged; none of the others sent",
)
async def request_at_the_end(stage: Stage) -> str:
    here = await front(stage, steps=[Step(hang_s=60)])
    whole = here.head(f"Content-Length: {len(here.body())}") + b"\r\n" + here.body()
    reader, writer = await asyncio.open_unix_connection(str(here.client.door.socket))
    writer.write(whole * 5)
    async with asyncio.timeout(30):
        while not here.reached:
            await asyncio.sleep(0.005)
        with structlog.testing.capture_logs() as logs:
            tally = await here.client.door.close()
        got = await to_the_end(reader)
    writer.close()
    cut = [line["requests"] for line in logs if line["event"].startswith("requests cut")]
    seen = (
        f"{len(got)} bytes came back, {here.reached} sent, cut and logged: {cut}, charged {tally.usage.tokens} tokens"
    )
    return holds(here.reached == 1 and not got and cut == [1] and tally.usage.tokens > 0, seen)


@attack(Area.GATEWAY, "looks for the real key in all that a door answers", expected="nowhere")
async def key_in_answers(stage: Stage) -> str:
    here = await front(stage)
    answers = [
        await here.ask(),
        await here.ask(model="x"),
        await here.client.send("GET", "/v1/models"),
        await here.client.send("HEAD", "/api/hello"),
        await here.client.send("GET", "/"),
        await here.client.send("POST", PATHS["responses"], data=b"{"),
    ]
    text = json.dumps([[answer.text, dict(answer.headers)] for answer in answers])
    leaks = [word for word in (KEY, "HONED_TEST_KEY", here.provider.base_url("openai"), "127.0.0.1") if word in text]
    return holds(not leaks, f"{len(answers)} answers, {len(leaks)} with the key, its name or the provider's address")
