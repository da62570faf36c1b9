"""A scripted model provider on loopback that speaks the three dialects and records what it was sent.

    async with Upstream([Step(status=500), Step(text="hello")]) as provider:
        ... provider.base_url("openai") ...
    assert provider.requests[0].body["model"] == "m"

Steps are used in order, one for each model request; the last one repeats. A step may also be a function of the
recorded request, for models that answer what they are asked.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from aiohttp import web

from tests.support.wire import Step, events, whole

_DIALECTS = {"/v1/responses": "responses", "/v1/chat/completions": "chat", "/v1/messages": "messages"}


@dataclass(frozen=True)
class Recorded:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    """With its query."""
    headers: Mapping[str, str]
    body: Any


StepSource = Step | Callable[[Recorded], Step]


class Upstream:
    """The server; an async context manager."""

    def __init__(self, steps: Sequence[StepSource] = (Step(),), *, port: int = 0, at_once: int = 0) -> None:
        """`at_once`: answer no model request before so many were under way at once."""
        self.steps = list(steps)
        self.requests: list[Recorded] = []
        self.running = 0
        self.most_running = 0
        """Largest number of model requests under way at once."""
        self._at_once = at_once
        self._full = asyncio.Event()
        self._used = 0
        self._runner: web.ServerRunner | None = None
        self._port = port

    async def __aenter__(self) -> Upstream:
        self._runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def base_url(self, provider: str) -> str:
        """As a configuration would name it."""
        root = f"http://127.0.0.1:{self._port}"
        return f"{root}/v1" if provider == "openai" else root

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        # The gateway never sends more than 64 MiB; aiohttp's own bound of 1 MiB is for forms.
        raw = b"".join([chunk async for chunk in request.content.iter_any()])
        if request.headers.get("Content-Encoding") == "gzip" and raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw
        headers = {name.lower(): value for name, value in request.headers.items()}
        recorded = Recorded(request.method, str(request.rel_url), headers, body)
        self.requests.append(recorded)
        dialect = _DIALECTS.get(request.path)
        if request.path.endswith("/count_tokens"):
            return web.json_response({"input_tokens": 1234})
        if dialect is None or not isinstance(body, dict):
            return web.json_response({"error": {"message": f"no such path {request.path}"}}, status=404)
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        if self.running >= self._at_once:
            self._full.set()
        try:
            await self._full.wait()
            return await self._answer(request, dialect, body, self._next(recorded))
        finally:
            self.running -= 1

    def _next(self, recorded: Recorded) -> Step:
        source = self.steps[min(self._used, len(self.steps) - 1)]
        self._used += 1
        return source if isinstance(source, Step) else source(recorded)

    async def _answer(
        self, request: web.BaseRequest, dialect: str, body: dict[str, Any], step: Step
    ) -> web.StreamResponse:
        await asyncio.sleep(step.hang_s)
        if step.hold is not None:
            await step.hold.wait()
        model = str(body.get("model"))
        if step.status != 200:
            content = step.body if isinstance(step.body, bytes) else json.dumps(step.body).encode()
            return web.Response(
                body=content, status=step.status, headers={"content-type": "application/json", **step.headers}
            )
        if body.get("stream"):
            wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
            return await self._stream(request, step, [*events(dialect, model, step, usage=wants_usage)])
        content = step.raw if step.raw is not None else json.dumps(whole(dialect, model, step)).encode()
        headers = {"content-type": "application/json", **step.headers}
        if step.drop_after is None:
            return web.Response(body=content, headers=headers)
        response = web.StreamResponse(headers={**headers, "content-length": str(len(content))})
        await response.prepare(request)
        await response.write(content[: step.drop_after])
        return _dropped(request, response)

    async def _stream(self, request: web.BaseRequest, step: Step, parts: list[bytes]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream", **step.headers})
        await response.prepare(request)
        if step.raw is not None:
            parts = [step.raw]
        if step.drop_after is not None:
            parts = parts[: step.drop_after]
        if step.split:
            joined = b"".join(parts)
            parts = [joined[k : k + step.split] for k in range(0, len(joined), step.split)]
        for part in parts:
            try:
                await response.write(part)
            except ConnectionError:  # the other side has heard enough
                return response
            # Also at zero: let the other side run, so that slices arrive as slices.
            await asyncio.sleep(step.pause_s)
        if step.drop_after is not None:
            return _dropped(request, response)
        await response.write_eof()
        return response


def _dropped(request: web.BaseRequest, response: web.StreamResponse) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response
