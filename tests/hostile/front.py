"""A real door onto a scripted provider, as an attacker inside a box meets it: by client, or by bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.policy import Caps
from sandboxes.gateway.policy import Upstream as Target
from sandboxes.gateway.upstream import Waits
from tests.hostile.attack import Stage
from tests.support.gateway import PATHS, PROVIDERS, Answer, Client, body, opened, policy
from tests.support.upstream import StepSource, Upstream
from tests.support.wire import Step

PATIENCE_S = 30.0
_STATUS = re.compile(rb"HTTP/\d\.\d (\d{3})")


@dataclass(frozen=True)
class Front:
    """The door from inside, and the provider behind it."""

    client: Client
    provider: Upstream
    dialect: str

    @property
    def reached(self) -> int:
        """Requests that the provider saw."""
        return len(self.provider.requests)

    @property
    def refusals(self) -> tuple[str, ...]:
        """What the door refused."""
        return self.client.door.tally().refusals

    async def ask(self, **more: Any) -> Answer:
        """A smallest request with these fields."""
        return await self.client.ask(self.dialect, **more)

    async def send(self, raw: bytes | str, **options: Any) -> Answer:
        """A request with this very body."""
        return await self.client.send("POST", PATHS[self.dialect], data=raw, **options)

    def head(self, *lines: str, line: str = "", token: str | None = None) -> bytes:
        """The head of a request, without the blank line that ends it."""
        shown = self.client.door.token if token is None else token
        first = line or f"POST {PATHS[self.dialect]} HTTP/1.1"
        return "\r\n".join((first, "Host: door", f"Authorization: Bearer {shown}", *lines, "")).encode()

    def body(self) -> bytes:
        """A smallest request's body."""
        return json.dumps(body(self.dialect)).encode()

    async def bytes(self, sent: bytes, *, answers: int = 1, half: bool = False) -> tuple[list[int], bytes, bool]:
        """Send bytes and read until so many answers began, or the end: their statuses, what came, whether it ended.

        `half`: close the sending half afterwards.
        """
        reader, writer = await asyncio.open_unix_connection(str(self.client.door.socket))
        got, ended = b"", False
        try:
            async with asyncio.timeout(PATIENCE_S):
                with contextlib.suppress(ConnectionError):
                    writer.write(sent)
                    await writer.drain()
                    if half:
                        writer.write_eof()
                got, ended = await _read(reader, answers)
        finally:
            writer.close()
        return [int(status) for status in _STATUS.findall(got)], got, ended


async def _read(reader: asyncio.StreamReader, answers: int) -> tuple[bytes, bool]:
    got = b""
    while len(_STATUS.findall(got)) < answers or b"\r\n\r\n" not in got:
        try:
            block = await reader.read(65536)
        except ConnectionResetError:
            return got, True
        if not block:
            return got, True
        got += block
    return got, False


async def front(
    stage: Stage,
    dialect: str = "responses",
    steps: Sequence[StepSource] = (Step(),),
    *,
    caps: Caps | None = None,
    waits: Waits | None = None,
    upstream: Target | None = None,
    bounds: Bounds | None = None,
    **changes: Any,
) -> Front:
    """Open both; they close with the stage."""
    provider = await stage.stack.enter_async_context(Upstream(list(steps)))
    base_url = provider.base_url(PROVIDERS[dialect])
    if upstream is not None:
        changes["upstream"] = upstream
    door = policy(dialect, base_url, caps=caps, **changes)
    client = await stage.stack.enter_async_context(opened(stage.folder / "s", door, waits=waits, bounds=bounds))
    return Front(client, provider, dialect)


def says_policy(answer: Answer) -> bool:
    """The answer is a refusal that says what it is, and that it is final."""
    try:
        message = json.loads(answer.content)["error"]["message"]
    except (ValueError, LookupError, TypeError):
        return False
    return str(message).startswith("honed policy: ") and answer.headers.get("x-should-retry") == "false"
