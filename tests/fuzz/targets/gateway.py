"""What a sandbox sends to the gateway, and what providers answer."""

from __future__ import annotations

import asyncio
import gzip
import json
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from sandboxes.gateway.dialects import Dialect, route
from sandboxes.gateway.failures import classify, parse_error
from sandboxes.gateway.meter import StreamMeter, settle, whole_counts
from tests.fuzz.target import Target, target
from tests.support.gateway import KEY, opened, policy
from tests.support.gateway import target as upstream
from tests.support.streams import to_the_end

_TOOLS = [
    {"type": "function", "name": "shell", "parameters": {"type": "object"}},
    {"type": "namespace", "name": "n", "tools": [{"type": "custom", "name": "c"}]},
]
_INPUT = [
    {
        "role": "user",
        "content": [{"type": "input_text", "text": "hi"}, {"type": "input_image", "image_url": "https://x"}],
    },
    {"type": "function_call_output", "call_id": "c", "output": "o"},
    {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]},
]
_MESSAGES = [
    {
        "role": "user",
        "content": [{"type": "text", "text": "hi"}, {"type": "image", "source": {"type": "url", "url": "x"}}],
    },
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a"}]}],
    },
]
_BODIES: dict[Dialect, dict[str, Any]] = {
    Dialect.RESPONSES: {"model": "m", "input": _INPUT, "tools": _TOOLS, "stream": True, "store": True, "user": "u"},
    Dialect.CHAT: {"model": "m", "messages": [{"role": "user", "content": "hi"}], "n": 2, "stream": True},
    Dialect.MESSAGES: {"model": "m", "messages": _MESSAGES, "max_tokens": 100, "tools": [{"name": "Bash"}]},
}
_BACKGROUND = {"model": "m", "input": "hi", "background": True, "mcp_servers": [], "previous_response_id": "r"}


def _requests() -> Sequence[bytes]:
    """Whole requests as a sandbox sends them; TOKEN stands for the door's own."""
    bodies = [json.dumps(body).encode() for body in (*_BODIES.values(), _BACKGROUND)]
    found = [_http("/v1/responses", body) for body in bodies]
    found += [
        _http("/v1/messages", bodies[2]),
        _http("/v1/responses", gzip.compress(bodies[0]), b"Content-Encoding: gzip"),
    ]
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(bodies[1]), bodies[1])
    head = (
        b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return [*found, head + chunked, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\n\r\n"]


def _http(path: str, body: bytes, *headers: bytes) -> bytes:
    lines = [f"POST {path} HTTP/1.1".encode(), b"Host: x", b"Authorization: Bearer TOKEN", *headers]
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"Connection: close", b"", body])


class _Door:
    """A real door on a unix socket; the provider behind it refuses every connection."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-door-")
        shut = policy(
            "responses", "http://127.0.0.1:1/v1", upstream=upstream("openai", "http://127.0.0.1:1/v1", tries=1)
        )
        self.client = self.loop.run_until_complete(
            self.stack.enter_async_context(opened(Path(self.folder.name) / "s", shut))
        )
        self.faults: list[str] = []
        self.loop.set_exception_handler(lambda _, told: self.faults.append(str(told)))

    async def exchange(self, data: bytes) -> bytes:
        """Say it, hang up, and read what comes."""
        door = self.client.door
        reader, writer = await asyncio.open_unix_connection(str(door.socket))
        try:
            async with asyncio.timeout(60):
                with suppress(ConnectionError):
                    writer.write(data.replace(b"TOKEN", door.token.encode()))
                    writer.write_eof()
                return await to_the_end(reader)
        finally:
            writer.close()

    def close(self) -> None:
        """Give everything back."""
        self.loop.run_until_complete(self.stack.aclose())
        self.loop.close()
        self.folder.cleanup()


_doors: list[_Door] = []


def _shut() -> None:
    while _doors:
        _doors.pop().close()


def _request(data: bytes) -> None:
    """Whatever is said to a door, it answers in HTTP or hangs up, and never with what it must not tell."""
    if not _doors:
        _doors.append(_Door())
    door = _doors[0]
    answer = door.loop.run_until_complete(door.exchange(data))
    assert not answer or answer.startswith(b"HTTP/1."), answer[:200]
    assert KEY.encode() not in answer
    assert b"Traceback" not in answer
    assert not door.faults, door.faults[:1]
    assert "gateway itself failed" not in door.client.door.tally().last_failure, door.client.door.tally().last_failure


_OPENAI = (
    b'event: response.created\ndata: {"type":"response.created","response":{"id":"r"}}\n\n'
    b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"hi"}\n\n'
    b'event: response.completed\ndata: {"type":"response.completed","response":{"usage":{"input_tokens":12,'
    b'"input_tokens_details":{"cached_tokens":4},"output_tokens":7}}}\n\n'
)
_CHAT = (
    b'data: {"choices":[{"delta":{"content":"hi"}}]}\n\n'
    b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}\n\ndata: [DONE]\n\n'
)
_ANTHROPIC = (
    b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n'
    b"event: ping\ndata: {}\n\n: comment\r\n\r\n"
    b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"hi"}}\n\n'
    b'event: message_delta\ndata: {"type":"message_delta","usage":{"output_tokens":40}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)
_FAILED = (
    b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    b'event: response.failed\ndata: {"type":"response.failed","response":{"error":{"code":"insufficient_quota"}}}\n\n'
)


def _meter(dialect: Dialect, chunks: Sequence[bytes]) -> tuple[object, ...]:
    meter = StreamMeter(dialect)
    for chunk in chunks:
        meter.feed(chunk)
    counts, final = meter.counts()
    settled = settle(counts, final=final, sent=10, received=10)
    assert min(settled.input, settled.output, settled.cached) >= 0
    settled.usage(None)
    return counts, final, meter.finished, meter.error, meter.substantial


def _sse(data: bytes) -> None:
    """However a stream is cut into pieces, it means the same."""
    cut = len(data) // 3
    for dialect in _BODIES:
        whole = _meter(dialect, [data])
        assert _meter(dialect, [data[:cut], data[cut:]]) == whole
        if len(data) < 2_000:
            assert _meter(dialect, [data[at : at + 1] for at in range(len(data))]) == whole


def _answer(data: bytes) -> None:
    parse_error(data)
    for status in (200, 400, 401, 429, 500, 529):
        classify(status, data)
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return
    for dialect in _BODIES:
        whole_counts(dialect, body)


def _errors() -> Sequence[bytes]:
    return [
        b'{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}',
        b'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}',
        b'{"usage":{"input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2},"output_tokens":3}}',
        b"<html><h1>502 Bad Gateway</h1></html>",
    ]


def _paths(data: bytes) -> None:
    for method in ("POST", "GET", data[:8].decode("latin-1")):
        found = route(method, data.decode("latin-1"))
        assert found is None or (method == "POST" and data.decode("latin-1").removeprefix("/v1").startswith("/"))


target(
    Target(
        "gateway-request",
        "what a sandbox says to its door, byte by byte",
        _requests,
        _request,
        close=_shut,
        tokens=(
            b"\r\n\r\n",
            b"TOKEN",
            b"Content-Length: 5\r\n",
            b"Transfer-Encoding: chunked\r\n",
            b"HTTP/1.0",
            b"POST ",
        ),
    )
)
target(
    Target(
        "gateway-sse",
        "a provider's stream, in any pieces",
        lambda: [_OPENAI, _CHAT, _ANTHROPIC, _FAILED, _OPENAI.replace(b"\n", b"\r\n")],
        _sse,
        tokens=(b"data: ", b"event: ", b"\n\n", b"[DONE]", b'"usage":', b"message_delta", b"response.completed"),
    )
)
target(
    Target("gateway-answer", "a provider's error or whole answer", _errors, _answer, tokens=(b'"code":', b'"type":'))
)
target(
    Target("gateway-path", "a request's method and path", lambda: [b"/v1/responses", b"/messages/count_tokens"], _paths)
)
