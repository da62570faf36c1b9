"""The provider fails in every way, under a CLI behind the door and under the chat client: named, told, and no score."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Upstream as Target
from sandboxes.gateway.upstream import Waits
from tests.hostile.attack import Area, Attack, Attempted, Stage, add
from tests.hostile.attacks.gateway_tls import self_signed
from tests.hostile.failing import assignment, by_chat, by_cli, expected_of, judged
from tests.support.gateway import Sleeps, target
from tests.support.ports import refusing_port
from tests.support.upstream import Upstream
from tests.support.wire import Step

KEY = "HONED_TEST_KEY"
Address = Callable[[Stage], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """One way of failing."""

    name: str
    what: str
    outcome: Outcome
    words: tuple[str, ...]
    """Of the line that a person reads."""
    step: Step = field(default_factory=Step)
    address: Address | None = None
    """Instead of a scripted provider."""
    timeout_s: float = 20.0
    connect_s: float = 10.0
    idle_s: float = 20.0
    cli: bool = True
    chat: bool = True


def refused(status: int, code: str, message: str = "no") -> Step:
    """An error answer."""
    return Step(status=status, body={"error": {"message": message, "type": code, "code": code}})


async def closed_port(stage: Stage) -> str:
    return f"http://127.0.0.1:{stage.stack.enter_context(refusing_port())}/v1"


async def nowhere(stage: Stage) -> str:
    return "http://provider.invalid/v1"


async def untrusted(stage: Stage) -> str:
    context = await asyncio.to_thread(self_signed, stage.folder)
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    stage.stack.callback(server.close)
    return f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"


async def never_accepts(stage: Stage) -> str:
    """A port whose queue is full: the kernel drops what else wants to connect."""
    listener = stage.stack.enter_context(socket.socket())
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    for _ in range(4):
        filler = stage.stack.enter_context(socket.socket())
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
    return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


async def silent_after_connecting(stage: Stage) -> str:
    """Takes a request and says nothing at all."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    stage.stack.callback(server.close)
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


ROWS = (
    Row("auth-401", "401", Outcome.AUTH, (KEY,), refused(401, "invalid_api_key")),
    Row("auth-403", "403", Outcome.AUTH, (KEY,), refused(403, "permission_error")),
    Row("quota-402", "402", Outcome.QUOTA, (KEY, "credit"), refused(402, "billing_error")),
    Row("quota-429", "429 with a code of used-up credit", Outcome.QUOTA, (KEY, "credit"),
        refused(429, "insufficient_quota")),
    Row("rate-limit", "429", Outcome.RATE_LIMIT, ("workers", KEY), refused(429, "rate_limit_exceeded")),
    Row("overload-503", "503", Outcome.OVERLOADED, ("later",), refused(503, "")),
    Row("overload-529", "529", Outcome.OVERLOADED, ("later",), refused(529, "overloaded_error")),
    Row("server-500", "500", Outcome.SERVER_ERROR, ("later",), refused(500, "server_error")),
    Row("server-502-of-a-proxy", "502 with a page of HTML", Outcome.SERVER_ERROR, ("later",),
        Step(status=502, body=b"<html>Bad Gateway</html>")),
    Row("no-such-model", "404 that names the model", Outcome.MODEL_NOT_FOUND, ("model",),
        refused(404, "model_not_found", "The model `m` does not exist")),
    Row("bad-request", "400", Outcome.BAD_REQUEST, ("no such field",), refused(400, "", "no such field")),
    Row("too-long", "400 with a code of a context that is too long", Outcome.AGENT_CONTEXT, ("context",),
        refused(400, "context_length_exceeded", "the context is too long")),
    Row("dropped", "drops the connection before it answers", Outcome.CUT_STREAM, ("again",), Step(drop_after=0)),
    Row("cut", "breaks off in the middle of its answer", Outcome.CUT_STREAM, ("again",),
        Step(text="word " * 50, drop_after=4)),
    Row("error-in-stream", "begins a stream with an error event", Outcome.OVERLOADED, ("later",),
        Step(failed={"code": "server_is_overloaded", "message": "busy"}), chat=False),
    Row("html-with-200", "answers 200 with a page of HTML", Outcome.CUT_STREAM, ("base_url",),
        Step(raw=b"<html>hello</html>"), cli=False),
    Row("connection-refused", "nobody listens", Outcome.UNREACHABLE, ("base_url", "refused"), address=closed_port),
    Row("no-such-host", "a host that has no address", Outcome.UNREACHABLE, ("base_url", "host name"), address=nowhere),
    Row("tls-not-trusted", "a certificate that it signed itself", Outcome.UNREACHABLE, ("certificate",),
        address=untrusted),
    Row("no-connection", "never takes the connection", Outcome.UNREACHABLE, ("base_url",), address=never_accepts,
        connect_s=0.3, timeout_s=0.6),
    Row("no-first-byte", "takes the request and says nothing", Outcome.UNREACHABLE, ("timeout_s",),
        address=silent_after_connecting, timeout_s=0.3),
    Row("silent-in-the-middle", "falls silent between two events", Outcome.UNREACHABLE, ("silent",),
        Step(text="word " * 50, pause_s=5.0), idle_s=0.3, chat=False),
    Row("too-slow-as-a-whole", "takes longer than timeout_s for an answer", Outcome.UNREACHABLE, ("timeout_s",),
        Step(hang_s=5.0), timeout_s=0.3, cli=False),
)  # fmt: skip


def failing(row: Row, *, chat: bool) -> Attempted:
    async def run(stage: Stage) -> str:
        if row.address is not None:
            base_url = await row.address(stage)
        else:
            provider = await stage.stack.enter_async_context(Upstream([row.step]))
            base_url = provider.base_url("openai")
        upstream: Target = target("openai", base_url, tries=2, timeout_s=row.timeout_s)
        waits = Waits(random.Random(1), sleep=Sleeps(), connect_s=row.connect_s, idle_s=row.idle_s)
        harness = by_chat(stage, upstream) if chat else by_cli(stage, upstream, waits=waits)
        return judged(await harness.run(assignment(stage)), row.outcome, *row.words)

    return run


for row in ROWS:
    for chat in (False, True):
        if row.chat if chat else row.cli:
            who = "the chat client" if chat else "a CLI behind the door"
            name = f"provider-{row.name}-{'chat' if chat else 'cli'}"
            add(
                Attack(
                    Area.FAILURES,
                    name,
                    f"provider, to {who}: {row.what}",
                    expected_of(row.outcome),
                    failing(row, chat=chat),
                    False,
                )
            )
