"""Smuggled and malformed requests: two readers of the same bytes must never see two requests where a door sees one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.gateway.bounds import Bounds
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.front import Front, front
from tests.support.streams import to_the_end

SMUGGLED = b"POST /v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def plain(here: Front, *lines: str) -> bytes:
    """A whole request with these lines besides."""
    return here.head(*lines, f"Content-Length: {len(here.body())}") + b"\r\n" + here.body()


def chunked(here: Front, tail: bytes, *lines: str) -> bytes:
    return here.head(*(lines or ("Transfer-Encoding: chunked",))) + b"\r\n" + tail


@dataclass(frozen=True)
class Row:
    """Bytes to send; the statuses that must come back, and how many requests the provider may see."""

    name: str
    what: str
    make: Callable[[Front], bytes]
    statuses: tuple[int, ...] = (400,)
    reached: int = 0


ROWS = (
    Row(
        "smuggle-length-and-chunks",
        "sends Content-Length and Transfer-Encoding at once (CL.TE)",
        lambda here: here.head("Content-Length: 6", "Transfer-Encoding: chunked") + b"\r\n0\r\n\r\n" + SMUGGLED,
    ),
    Row(
        "smuggle-two-encodings",
        "sends two Transfer-Encoding lines (TE.TE)",
        lambda here: chunked(
            here, b"0\r\n\r\n" + SMUGGLED, "Transfer-Encoding: chunked", "Transfer-Encoding: identity"
        ),
    ),
    Row(
        "smuggle-spaced-encoding",
        "writes `Transfer-Encoding :` with a blank before the colon",
        lambda here: chunked(here, chunk(here.body()) + b"0\r\n\r\n", "Transfer-Encoding : chunked"),
    ),
    Row(
        "smuggle-unknown-encoding",
        "names an encoding that only begins like chunked",
        lambda here: chunked(here, chunk(here.body()) + b"0\r\n\r\n", "Transfer-Encoding: xchunked"),
    ),
    Row(
        "smuggle-two-lengths",
        "sends two different Content-Length lines",
        lambda here: plain(here, "Content-Length: 3") + SMUGGLED,
    ),
    Row("smuggle-plus-length", "sends Content-Length: +5", lambda here: here.head("Content-Length: +5") + b"\r\nhello"),
    Row(
        "smuggle-hex-length", "sends Content-Length: 0x5", lambda here: here.head("Content-Length: 0x5") + b"\r\nhello"
    ),
    Row(
        "smuggle-minus-length", "sends Content-Length: -1", lambda here: here.head("Content-Length: -1") + b"\r\nhello"
    ),
    Row(
        "smuggle-vast-length",
        "sends a Content-Length beyond 64 bits",
        lambda here: here.head(f"Content-Length: {'9' * 30}") + b"\r\nhello",
    ),
    Row(
        "smuggle-folded-header",
        "folds a header over two lines (obs-fold)",
        lambda here: plain(here, "X-App: a\r\n Authorization: Bearer x"),
    ),
    Row(
        "smuggle-bare-line-feeds",
        "ends lines by LF alone",
        lambda here: plain(here, "X-App: a").replace(b"\r\n", b"\n", 4),
    ),
    Row(
        "smuggle-bare-return",
        "puts a CR and a header into a header's value",
        lambda here: plain(here, "X-App: a\rContent-Length: 0"),
    ),
    Row("smuggle-nul", "puts a NUL into a header's value", lambda here: plain(here, "X-App: a\0b")),
    Row(
        "smuggle-chunk-overflow",
        "sends a chunk size beyond 64 bits",
        lambda here: chunked(here, b"F" * 20 + b"\r\nx"),
    ),
    Row(
        "smuggle-chunk-sign",
        "sends a chunk size with a sign",
        lambda here: chunked(here, b"+5\r\nhello\r\n0\r\n\r\n"),
    ),
    Row(
        "smuggle-chunk-line-feed",
        "ends a chunk's size by LF, with an extension",
        lambda here: chunked(here, b"5;a=b\nhello\r\n0\r\n\r\n" + SMUGGLED),
    ),
    Row(
        "smuggle-chunk-too-long",
        "sends more in a chunk than it says",
        lambda here: chunked(here, b"2\r\nhello\r\n0\r\n\r\n" + SMUGGLED),
    ),
    Row(
        "smuggle-behind-a-request",
        "pipelines a second request without a token behind a good one",
        lambda here: plain(here) + here.head("Content-Length: 2", token="") + b"\r\n{}",
        (200, 401),
        1,
    ),
    Row(
        "smuggle-trailing-garbage",
        "sends more than the body's length says",
        lambda here: plain(here) + b"\0\x01garbage\r\n\r\n",
    ),
    Row(
        "another-host-in-the-request-line",
        "asks for another host in absolute form",
        lambda here: here.head("Content-Length: 0", line="POST http://evil.example/v1/responses HTTP/1.1") + b"\r\n",
        (403,),
    ),
    Row(
        "connect-through-the-door",
        "uses the door as a proxy with CONNECT",
        lambda here: here.head(line="CONNECT evil.example:443 HTTP/1.1") + b"\r\n",
        (403,),
    ),
    Row(
        "upgrade-to-a-websocket",
        "asks for a websocket",
        lambda here: here.head("Upgrade: websocket", "Connection: Upgrade", "Content-Length: 0") + b"\r\n",
        (403,),
    ),
    Row(
        "upgrade-to-http2",
        "upgrades to HTTP/2 in the clear (h2c)",
        lambda here: here.head("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "Content-Length: 0") + b"\r\n",
        (403,),
    ),
    Row("http2-preface", "opens with the preface of HTTP/2", lambda here: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Row("http-0-9", "asks in HTTP/0.9", lambda here: b"POST /v1/responses\r\n\r\n", (401,)),
    Row("tls-at-the-door", "begins a TLS handshake", lambda here: bytes.fromhex("16030100c8010000c40303") + b"\0" * 99),
    Row(
        "head-too-large-at-once",
        "sends a head of 100 kB in one header",
        lambda here: here.head(f"X-App: {'a' * 100_000}") + b"\r\n",
    ),
    Row(
        "head-of-many-headers",
        "sends ten thousand headers",
        lambda here: here.head(*(f"X-{number}: {number}" for number in range(10_000))) + b"\r\n",
    ),
)


def tried(row: Row) -> Attempted:
    async def run(stage: Stage) -> str:
        here = await front(stage)
        statuses, got, _ = await here.bytes(row.make(here), answers=len(row.statuses))
        told = b"honed policy:" in got
        seen = (
            f"answers {statuses}, {here.reached} requests at the provider, {'says' if told else 'does not say'} policy"
        )
        return holds(tuple(statuses) == row.statuses and here.reached == row.reached and told, seen)

    return run


for each in ROWS:
    expected = f"{' then '.join(map(str, each.statuses))}, {each.reached or 'no'} request at the provider"
    add(Attack(Area.GATEWAY, each.name, each.what, expected, tried(each), False))


@attack(Area.GATEWAY, "sends a head that is too large piece by piece", expected="431 after 64 KiB, connection ended")
async def head_that_grows(stage: Stage) -> str:
    here = await front(stage)
    reader, writer = await asyncio.open_unix_connection(str(here.client.door.socket))
    sent = 0
    async with asyncio.timeout(30):
        with contextlib.suppress(ConnectionError):
            writer.write(b"POST /v1/responses HTTP/1.1\r\n")
            while not here.refusals and sent < 10_000_000:
                writer.write(b"X-App: %s\r\n" % (b"a" * 4000))
                await writer.drain()
                sent += 4000
        with contextlib.suppress(ConnectionError):
            await to_the_end(reader)
    writer.close()
    seen = f"refused after {sent // 1024} KiB: {here.refusals}"
    return holds(here.refusals in {("head: too large",), ("http: malformed",)} and sent < 1_000_000, seen)


@attack(Area.GATEWAY, "lets a head trickle in and never ends it (slow loris)", expected="408, connection ended")
async def head_that_never_ends(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(head_s=0.05))
    statuses, _, _ = await here.bytes(b"POST /v1/responses HTTP/1.1\r\nHost: ", answers=1)
    seen = f"answers {statuses}, refusals {here.refusals}, {here.reached} requests at the provider"
    return holds(statuses == [408] and here.refusals == ("head: too slow",) and not here.reached, seen)


@attack(Area.GATEWAY, "opens connections and says nothing (half-open)", expected="closed when idle, others served")
async def half_open(stage: Stage) -> str:
    here = await front(stage, bounds=Bounds(idle_s=0.05))
    readers = [await asyncio.open_unix_connection(str(here.client.door.socket)) for _ in range(40)]
    async with asyncio.timeout(30):
        ends = [await reader.read(1) for reader, _ in readers]
    for _, writer in readers:
        writer.close()
    answer = await here.ask()
    return holds(not any(ends) and answer.status == 200, f"{len(ends)} closed, the next request got {answer.status}")


class Noting(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, seen: list[logging.LogRecord]) -> None:
        super().__init__(logging.WARNING)
        self.seen = seen

    def emit(self, record: logging.LogRecord) -> None:
        if b"evil" in repr(record.exc_info).encode() or "evil" in record.getMessage():
            self.seen.append(record)


@attack(Area.GATEWAY, "floods the log with malformed requests", expected="no log line for any of them")
async def log_flood(stage: Stage) -> str:
    here = await front(stage)
    seen: list[logging.LogRecord] = []
    handler = Noting(seen)
    logging.getLogger("aiohttp.server").addHandler(handler)
    try:
        for number in range(20):
            await here.bytes(b"evil\x1b[2J%d\r\n\r\n" % number)
    finally:
        logging.getLogger("aiohttp.server").removeHandler(handler)
    return holds(not seen and len(here.refusals) == 20, f"{len(seen)} log lines for {len(here.refusals)} refusals")
