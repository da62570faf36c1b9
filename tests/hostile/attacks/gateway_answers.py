"""What a provider sends: nothing of the key, of its own address or of its insides reaches the sandbox, nor a bomb."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import quote

import aiohttp
from aiohttp import web

from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.gateway.upstream import Waits
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import front
from tests.support.gateway import KEY, Sleeps, target
from tests.support.loopback import Loopback
from tests.support.wire import Step

ECHOES: dict[str, Callable[[str], str]] = {
    "plain": lambda key: key,
    "percent-encoded": lambda key: quote(f"{key}/+=", safe=""),
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64-of-the-header": lambda key: base64.b64encode(f"Bearer {key}".encode()).decode(),
    "base64-for-addresses": lambda key: base64.urlsafe_b64encode(f"x{key}??".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
}
READ: dict[str, Callable[[str], list[str]]] = {
    "plain": lambda key: [key],
    "percent-encoded": lambda key: [quote(key, safe=""), key],
    "base64": lambda key: [base64.b64encode(key.encode()).decode()[:-4]],
    "base64-of-the-header": lambda key: [base64.b64encode(f"Bearer {key}".encode()).decode()[12:-4]],
    "base64-for-addresses": lambda key: [base64.urlsafe_b64encode(f"x{key}??".encode()).decode()[4:-8]],
    "hexadecimal": lambda key: [key.encode().hex()],
}


def echoing(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        echo = ECHOES[name](KEY)
        said = {"error": {"message": f"bad request with {echo}", "type": echo, "code": "invalid_request_error"}}
        steps = [
            Step(status=400, body=said),
            Step(status=500, body=f"crash at {echo}".encode()),
            Step(status=401, body=said),
            Step(text=f"your key is {echo} yes", split=5),
            Step(text=f"your key is {echo} yes"),
            Step(headers={"retry-after": echo, "x-request-id": echo, "x-should-retry": echo, "server": echo}),
        ]
        leaks = 0
        for step in steps:
            here = await front(stage, "responses", [step])
            answer = await here.ask(stream=bool(step.split))
            told = answer.text + str(answer.headers) + repr(here.client.door.tally())
            leaks += any(form in told for form in READ[name](KEY))
        return holds(not leaks, f"{len(steps)} kinds of answers, {leaks} with the key")

    return run


for each in ECHOES:
    what = f"gets the provider to repeat the key ({each.replace('-', ' ')})"
    add(Attack(Area.GATEWAY, f"echo-{each}", what, "masked everywhere", echoing(each), False))


@attack(
    Area.GATEWAY,
    "reads the provider's headers and errors for addresses, ids and cookies",
    expected="the kind of the content alone",
)
async def insides_of_the_provider(stage: Stage) -> str:
    headers = {
        "set-cookie": "session=1",
        "server": "envoy/internal-7",
        "x-request-id": "req_0123456789",
        "request-id": "req_0123456789",
        "via": "1.1 10.1.2.3",
        "x-envoy-upstream-service-time": "7",
        "openai-organization": "acme",
        "cf-ray": "ray",
        "location": "http://10.1.2.3/",
        "x-ratelimit-limit-requests": "7",
        "content-type": "text/html; charset=internal",
    }
    message = "upstream http://10.1.2.3:8080/v1 at 127.0.0.1 said no (req_0123456789abc); see https://internal/x"
    body = {"error": {"message": message, "type": "x", "debug": "internal-7"}}
    steps = [
        Step(headers=headers),
        Step(status=400, body=body, headers=headers),
        Step(status=404, body=body, headers=headers),
        Step(status=503, body=body, headers=headers),
        Step(status=302, body=body, headers=headers),
    ]
    seen, told = set(), ""
    for step in steps:
        here = await front(stage, "responses", [step])
        answer = await here.ask()
        seen |= set(answer.headers) - {"content-length", "date", "server", "transfer-encoding"}
        told += answer.text + str(answer.headers)
    words = ("10.1.2.3", "127.0.0.1", "internal", "req_01", "session=1", "acme", "envoy", "HONED_TEST_KEY", "https:")
    leaks = [word for word in words if word in told]
    return holds(not leaks and seen <= {"content-type", "x-should-retry"}, f"headers {sorted(seen)}, leaks {leaks}")


Serve = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


async def served(stage: Stage, serve: Serve, *, stream: bool, **options: Any) -> tuple[str, Tally]:
    """What became of one request to such a provider: status, or that it was cut; and the tally."""
    loopback = Loopback(serve)
    await asyncio.to_thread(loopback.start)
    stage.stack.push_async_callback(asyncio.to_thread, loopback.stop)
    upstream = target(
        "openai", f"http://127.0.0.1:{loopback.port}/v1", tries=1, timeout_s=options.pop("timeout_s", 20.0)
    )
    waits = Waits(random.Random(1), Sleeps(), **options)
    here = await front(stage, "chat", upstream=upstream, waits=waits)
    try:
        status = str((await here.ask(stream=stream)).status)
    except aiohttp.ClientError:
        status = "cut"
    return status, here.client.door.tally()


def streaming(parts: Callable[[], AsyncIterator[bytes]], **headers: str) -> Serve:
    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **headers})
        await response.prepare(request)
        try:
            async for part in parts():
                if request.transport is None or request.transport.is_closing():
                    break
                await response.write(part)
        except ConnectionError:
            pass
        return response

    return serve


EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"w"}}]}\n\n'


async def endless(part: bytes, first: bytes = b"", pause_s: float = 0.0) -> AsyncIterator[bytes]:
    yield first
    while True:
        yield part
        await asyncio.sleep(pause_s)


STREAMS: dict[str, tuple[str, Callable[[], AsyncIterator[bytes]], dict[str, Any], ProviderFailure]] = {
    "stream-without-end": (
        "is sent events without end",
        lambda: endless(EVENT * 200),
        {"stream_bytes": 2_000_000},
        ProviderFailure.BAD_REPLY,
    ),
    "stream-of-one-line": (
        "is sent one line without end",
        lambda: endless(b"x" * 65536, first=EVENT + b"data: "),
        {"stream_bytes": 4_000_000},
        ProviderFailure.BAD_REPLY,
    ),
    "stream-that-only-lives": (
        "is sent signs of life for ever, and nothing else",
        lambda: endless(b": alive\n\nevent: ping\ndata: {}\n\n", first=EVENT, pause_s=0.005),
        {"alive_s": 0.1},
        ProviderFailure.TIMEOUT,
    ),
    "stream-that-never-begins": (
        "is sent signs of life instead of an answer's beginning",
        lambda: endless(b"event: ping\ndata: {}\n\n", pause_s=0.005),
        {"timeout_s": 0.2},
        ProviderFailure.TIMEOUT,
    ),
    "stream-that-falls-silent": (
        "is sent a beginning and then nothing",
        lambda: endless(b"", first=EVENT, pause_s=0.02),
        {"idle_s": 0.1},
        ProviderFailure.TIMEOUT,
    ),
}


def streamed(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        _, parts, options, failure = STREAMS[name]
        status, tally = await served(stage, streaming(parts), stream=True, **options)
        seen = f"{status}, noted as {', '.join(tally.failures)}"
        return holds(status in {"cut", "400"} and tally.failures == (failure,), seen)

    return run


for each, row in STREAMS.items():
    add(Attack(Area.GATEWAY, each, row[0], f"ended at a bound, noted as {row[3]}", streamed(each), False))


@attack(Area.GATEWAY, "is sent a whole answer without end", expected="ended at 32 MiB, noted as bad_reply")
async def answer_without_end(stage: Stage) -> str:
    serve = streaming(lambda: endless(b" " * 262_144), **{"content-type": "application/json"})
    status, tally = await served(stage, serve, stream=False)
    return holds(tally.failures == (ProviderFailure.BAD_REPLY,), f"{status}, {tally.last_failure[:90]}")


def packed(name: str, data: bytes) -> Attempted:
    async def run(stage: Stage) -> str:
        async def once() -> AsyncIterator[bytes]:
            yield data

        serve = streaming(once, **{"content-type": "application/json", "content-encoding": name})
        status, tally = await served(stage, serve, stream=False)
        return holds(tally.failures == (ProviderFailure.BAD_REPLY,), f"{status}, {tally.last_failure[:90]}")

    return run


def bomb(kind: str) -> bytes:
    """40 MiB of blanks."""
    if kind == "gzip":
        return gzip.compress(b" " * 40 * 1024**2, 1)
    packer = zlib.compressobj(1)
    return packer.compress(b" " * 40 * 1024**2) + packer.flush()


for each in ("gzip", "deflate"):
    what = f"is sent a bomb of {each}, though plain bytes were asked for"
    name = f"answer-bomb-{each}"

    async def bombed(stage: Stage, kind: str = each) -> str:
        return await packed(kind, await asyncio.to_thread(bomb, kind))(stage)

    add(Attack(Area.GATEWAY, name, what, "ended at 32 MiB, noted as bad_reply", bombed, False))


@attack(Area.GATEWAY, "is sent an answer of ten million empty lists", expected="not read, noted as bad_reply")
async def answer_of_many_parts(stage: Stage) -> str:
    async def lists() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"[]," * 100_000

    status, tally = await served(stage, streaming(lists, **{"content-type": "application/json"}), stream=False)
    return holds(tally.failures == (ProviderFailure.BAD_REPLY,), f"{status}, {tally.last_failure[:90]}")


@attack(Area.GATEWAY, "is sent an error without end", expected="read up to a bound, told as the provider's failure")
async def error_without_end(stage: Stage) -> str:
    async def serve(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        try:
            async for part in endless(b"x" * 65536):
                await response.write(part)
        except ConnectionError:
            pass
        return response

    status, tally = await served(stage, serve, stream=False)
    return holds(tally.failures == (ProviderFailure.SERVER_ERROR,), f"{status}, noted as {', '.join(tally.failures)}")


@attack(
    Area.GATEWAY,
    "is redirected to another host, which would be shown the key",
    expected="not followed; the other host sees nothing",
)
async def redirected(stage: Stage) -> str:
    asked: list[str] = []

    async def other(request: web.BaseRequest) -> web.StreamResponse:
        asked.append(json.dumps(dict(request.headers)))
        return web.json_response({})

    loopback = Loopback(other)
    await asyncio.to_thread(loopback.start)
    stage.stack.push_async_callback(asyncio.to_thread, loopback.stop)
    elsewhere = f"http://127.0.0.1:{loopback.port}/v1/responses"
    statuses = []
    for status in (301, 302, 303, 307, 308):
        here = await front(stage, steps=[Step(status=status, body={}, headers={"Location": elsewhere})])
        statuses.append((await here.ask()).status)
    return holds(not asked and set(statuses) == {400}, f"{len(statuses)} redirections, {len(asked)} followed")
