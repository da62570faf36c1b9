"""Opens a real door onto a scripted upstream and talks to it as a sandbox would."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from pydantic import SecretStr

from sandboxes.gateway.bounds import Bounds
from sandboxes.gateway.gateway import Door
from sandboxes.gateway.policy import Caps, DoorPolicy, Price, Provider
from sandboxes.gateway.policy import Upstream as UpstreamTarget
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.gateway.upstream import Waits

KEY = "sk-real-0123456789-secret"
PRICE = Price(input=1.0, cached_input=0.1, output=10.0)
PATHS = {"responses": "/v1/responses", "chat": "/v1/chat/completions", "messages": "/v1/messages"}
PROVIDERS: dict[str, Provider] = {"responses": "openai", "chat": "openai", "messages": "anthropic"}
DIALECTS = tuple(PATHS)


def target(provider: Provider, base_url: str, **changes: Any) -> UpstreamTarget:
    """Where a door leads, with the real key of the tests."""
    settings: dict[str, Any] = {"key_name": "HONED_TEST_KEY", "tries": 3, "retry_s": 30.0, "timeout_s": 60.0, **changes}
    return UpstreamTarget(provider, base_url, SecretStr(KEY), **settings)


def policy(dialect: str, base_url: str, *, caps: Caps | None = None, **changes: Any) -> DoorPolicy:
    """A door for the model `m`, if not another one is given."""
    settings = {"price": PRICE, "model": "m", **changes}
    upstream = settings.pop("upstream", None) or target(PROVIDERS[dialect], base_url)
    return DoorPolicy(upstream, caps=caps or Caps(), **settings)


def body(dialect: str, **more: Any) -> dict[str, Any]:
    """A smallest request."""
    turns = [{"role": "user", "content": "hi"}]
    start: dict[str, Any] = {"model": "m", "input" if dialect == "responses" else "messages": turns}
    if dialect == "messages":
        start["max_tokens"] = 100
    return {**start, **more}


@dataclass
class Sleeps:
    """A `sleep` that only notes how long it should have been."""

    asked: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)


@dataclass(frozen=True)
class Answer:
    """What the sandbox got; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()


class Client:
    """Talks to a door with its token."""

    def __init__(self, door: Door, session: aiohttp.ClientSession) -> None:
        self.door = door
        self.session = session

    async def send(self, method: str, path: str, *, token: str | None = None, **options: Any) -> Answer:
        """One request; `token=""` leaves the credential out."""
        shown = self.door.token if token is None else token
        headers = {**({"Authorization": f"Bearer {shown}"} if shown else {}), **options.pop("headers", {})}
        async with self.session.request(method, f"http://door{path}", headers=headers, **options) as response:
            content = await response.read()
            return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, content)

    async def ask(self, dialect: str, **more: Any) -> Answer:
        """A smallest request in that dialect."""
        return await self.send("POST", PATHS[dialect], json=body(dialect, **more))


@asynccontextmanager
async def opened(
    sockets: Path,
    door_policy: DoorPolicy,
    *,
    waits: Waits | None = None,
    concurrency: int = 16,
    bounds: Bounds | None = None,
) -> AsyncIterator[Client]:
    """A real gateway with one door, and a client on it."""
    waits = waits or Waits(rng=random.Random(7), sleep=Sleeps())
    gateway = ModelGateway(sockets, waits=waits, concurrency=concurrency, bounds=bounds or Bounds())
    door = await gateway.open("attempt-1", door_policy)
    try:
        async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(door.socket))) as session:
            yield Client(door, session)
    finally:
        await gateway.close()
