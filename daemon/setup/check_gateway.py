"""The row of `honed doctor` about the gateway: one real request through a door to a provider on loopback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import aiohttp
from aiohttp import web
from pydantic import SecretStr

from daemon.setup.check import Check
from sandboxes.gateway.policy import Caps, DoorPolicy, Upstream
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.sandbox import SandboxError

_KEY = "doctor-key-that-only-the-gateway-knows"
_MODEL = "doctor"
_REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": _MODEL,
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "well"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


async def gateway_check() -> Check:
    """Open a door, ask through it, and see that the key was put in on the way and the tokens were counted."""
    seen: list[str] = []

    async def answer(request: web.BaseRequest) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.json_response(_REPLY)

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        with tempfile.TemporaryDirectory(prefix="honed-") as folder:
            return await _through(Path(folder), f"http://127.0.0.1:{port}/v1", seen)
    except (SandboxError, OSError, aiohttp.ClientError) as error:
        return Check(
            "gateway", "fail", f"a door cannot be used: {error}", "check TMPDIR: unix sockets need a short path"
        )
    finally:
        await runner.cleanup()


async def _through(folder: Path, base_url: str, seen: list[str]) -> Check:
    gateway = ModelGateway(folder)
    upstream = Upstream("openai", base_url, SecretStr(_KEY), timeout_s=5, retry_s=0, tries=1)
    try:
        door = await gateway.open("doctor", DoorPolicy(upstream, _MODEL, Caps(requests=1)))
        status = await _ask(door.socket, door.token)
        tally = await door.close()
    finally:
        await gateway.close()
    if status != 200 or seen != [f"Bearer {_KEY}"] or tally.usage.tokens != 2:
        detail = f"a request came back with {status}, {len(seen)} arrived, {tally.usage.tokens} tokens counted"
        return Check("gateway", "fail", detail, "please report it with this line")
    return Check("gateway", "ok", "a request went through a door and was counted")


async def _ask(socket: Path, token: str) -> int:
    connector = aiohttp.UnixConnector(str(socket))
    body = {"model": _MODEL, "messages": [{"role": "user", "content": "how are you"}]}
    timeout = aiohttp.ClientTimeout(total=10)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        session.post(
            "http://door/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {token}"}
        ) as reply,
    ):
        await reply.read()
        return reply.status
