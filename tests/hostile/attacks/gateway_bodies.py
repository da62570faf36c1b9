"""Bodies that are bombs: in bytes, in time, in memory, in what a reader makes of them."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
from collections.abc import AsyncIterator

from sandboxes.gateway.bounds import MIB, Bounds
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import front, says_policy
from tests.support.gateway import PATHS, body

GZIP = {"Content-Encoding": "gzip"}
GOOD = json.dumps(body("responses"))
START = '{"model":"m","input":[],'
BODIES: dict[str, tuple[str, bytes, dict[str, str], int]] = {
    "body-not-a-number": ("sends NaN", f'{START}"temperature":NaN}}'.encode(), {}, 400),
    "body-infinite": ("sends -Infinity", f'{START}"temperature":-Infinity}}'.encode(), {}, 400),
    "body-number-too-large": ("sends 1e999", f'{START}"temperature":1e999}}'.encode(), {}, 400),
    "body-number-of-many-digits": (
        "sends a number of a million digits",
        f'{START}"top_p":{"9" * 10**6}}}'.encode(),
        {},
        400,
    ),
    "body-nested": ("nests 200,000 lists", f'{START}"a":{"[" * 200_000}'.encode(), {}, 400),
    "body-nested-whole": (
        "nests 100,000 objects, well formed",
        START.encode() + b'"text":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        {},
        400,
    ),
    "body-two-documents": ("sends two JSON documents", (GOOD * 2).encode(), {}, 400),
    "body-utf-16": ("sends UTF-16", GOOD.encode("utf-16"), {}, 200),
    "body-not-text": ("sends bytes that are no text", b'{"model":"m\xff"}', {}, 400),
    "body-a-list": ("sends a list", b'[{"model":"m"}]', {}, 400),
    "gzip-cut": ("cuts a gzip body short", gzip.compress(GOOD.encode())[:-9], GZIP, 400),
    "gzip-garbage-behind": ("adds garbage behind a gzip body", gzip.compress(GOOD.encode()) + b"evil", GZIP, 400),
    "gzip-second-member": ("adds a second gzip member", gzip.compress(GOOD.encode()) + gzip.compress(b"1"), GZIP, 400),
    "gzip-nested": ("packs a gzip body twice", gzip.compress(gzip.compress(GOOD.encode())), GZIP, 400),
    "gzip-and-more": ("names two encodings", gzip.compress(GOOD.encode()), {"Content-Encoding": "gzip, gzip"}, 415),
    "encoding-deflate": ("packs by deflate", b"x", {"Content-Encoding": "deflate"}, 415),
    "encoding-brotli": ("packs by brotli", b"x", {"Content-Encoding": "br"}, 415),
}


def tried(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        _, data, headers, status = BODIES[name]
        here = await front(stage)
        answer = await here.client.send("POST", PATHS["responses"], data=io.BytesIO(data), headers=headers)
        seen = f"{answer.status}, {here.refusals}, {here.reached} requests at the provider"
        if status == 200:  # one reading of it is right, and that one is what is sent on
            return holds(answer.status == 200 and here.provider.requests[0].body["model"] == "m", seen)
        return holds(answer.status == status and says_policy(answer) and not here.reached, seen)

    return run


for each, row in BODIES.items():
    how = "read, and sent on as plain UTF-8" if row[3] == 200 else f"{row[3]} that says policy, nothing sent"
    add(Attack(Area.GATEWAY, each, row[0], how, tried(each), False))


@attack(Area.GATEWAY, "sends a gzip bomb of 1:1000", expected="413, unpacked up to the bound")
async def gzip_bomb(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(body_bytes=MIB))
    bomb = gzip.compress(b" " * (40 * MIB), 1)
    answer = await here.client.send("POST", PATHS["responses"], data=io.BytesIO(bomb), headers=GZIP)
    seen = f"{answer.status} for {len(bomb) // 1024} KiB that are 40 MiB, at a bound of 1 MiB"
    return holds(answer.status == 413 and not here.reached, seen)


@attack(Area.GATEWAY, "sends a body of half a gigabyte in small chunks", expected="413 at the bound")
async def endless_body(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(body_bytes=MIB))
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 512 * MIB:
            sent += 65536
            yield b" " * 65536

    try:
        status: object = (await here.client.send("POST", PATHS["responses"], data=parts())).status
    except OSError as error:  # closed while we still send
        status = type(error).__name__
    seen = f"{status} after {sent // MIB} MiB, {here.refusals}"
    return holds(here.refusals == ("body: too large",) and sent < 64 * MIB, seen)


@attack(Area.GATEWAY, "says that a body of 10 TB will come", expected="413 at once, before a byte of it")
async def body_that_is_promised(stage: Stage) -> str:
    here = await front(stage)
    statuses, _, _ = await here.bytes(here.head(f"Content-Length: {10**13}") + b"\r\n")
    return holds(statuses == [413] and here.refusals == ("body: too large",), f"{statuses}, {here.refusals}")


@attack(Area.GATEWAY, "lets a body trickle in and never ends it (slow loris)", expected="408, connection ended")
async def body_that_never_ends(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(body_s=0.05))
    statuses, _, _ = await here.bytes(here.head("Content-Length: 100") + b"\r\n{")
    return holds(statuses == [408] and not here.reached, f"{statuses}, {here.refusals}")


@attack(Area.GATEWAY, "ends the connection in the middle of a body", expected="nothing sent, no failure of ours noted")
async def body_cut_short(stage: Stage) -> str:
    here = await front(stage)
    await here.bytes(here.head("Content-Length: 100") + b"\r\n{", half=True)
    await here.bytes(here.head("Transfer-Encoding: chunked") + b"\r\n5\r\n{", half=True)
    async with asyncio.timeout(30):
        while len(here.refusals) < 2:
            await asyncio.sleep(0.01)
    tally = here.client.door.tally()
    seen = f"{here.refusals}, failures {tally.failures}, {here.reached} requests at the provider"
    return holds(not tally.failures and not here.reached, seen)


@attack(
    Area.GATEWAY,
    "holds 64 connections open, each with a large body that is almost whole",
    expected="a door's bodies together stay within their bound; what is beyond is refused",
)
async def many_large_bodies(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(door_bytes=8 * MIB, requests=64))
    part = b" " * (MIB - 1)
    opened = [await asyncio.open_unix_connection(str(here.client.door.socket)) for _ in range(20)]
    for _, writer in opened:
        writer.write(here.head(f"Content-Length: {MIB}") + b"\r\n" + part)
    async with asyncio.timeout(60):
        while len(here.refusals) < 12:
            await asyncio.sleep(0.01)
    for _, writer in opened:
        writer.close()
    refused = set(here.refusals)
    seen = f"20 bodies of 1 MiB at a bound of 8: {len(here.refusals)} refused as {refused}"
    return holds(len(here.refusals) == 12 and refused == {"body: too much at once"}, seen)


@attack(Area.GATEWAY, "asks for ever, always wrongly", expected="served no more after a thousand refusals")
async def endless_refusals(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(refusals=20))
    for _ in range(20):
        await here.ask(model="big")
    answer = await here.ask()
    seen = f"then even a right request gets {answer.status}, {here.reached} requests at the provider"
    return holds(answer.status == 403 and says_policy(answer) and not here.reached, seen)
