"""The row of `honed doctor --online` about a provider: it answers, takes the key, knows the model."""

from __future__ import annotations

import asyncio

import aiohttp

from daemon.config import ConfigError, ModelSection
from daemon.secrets import key_remedy
from daemon.setup.check import Check
from daemon.wiring import is_simulated, upstream_of
from sandboxes.gateway.policy import Upstream

_TIMEOUT_S = 15


async def provider_check(name: str, section: ModelSection) -> Check:
    """List the provider's models: costs nothing, needs the key."""
    row = f"provider {name}"
    if is_simulated(section):
        return Check(row, "ok", "simulated model")
    try:
        upstream = await asyncio.to_thread(upstream_of, section, None)
    except ConfigError as error:
        return Check(row, "fail", str(error), key_remedy(section))
    url = _models_url(upstream)
    try:
        timeout = aiohttp.ClientTimeout(total=_TIMEOUT_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=_headers(upstream), allow_redirects=False) as reply,
        ):
            status, body = reply.status, await reply.text()
    except (TimeoutError, aiohttp.ClientError, ValueError) as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Check(row, "fail", f"{url} does not answer ({what})", f"check the network and [{name}] base_url")
    return judge(row, section, upstream, status, body)


def judge(row: str, section: ModelSection, upstream: Upstream, status: int, body: str) -> Check:
    """What the answer means. Pure."""
    name = row.rpartition(" ")[2]
    where = f"{upstream.base_url} answers {status}"
    if status in (401, 403):
        return Check(row, "fail", f"{where}: the key is refused", f"check {upstream.key_name}")
    if status != 200:
        return Check(
            row, "warn", f"{where} to a list of models", f"check [{name}] base_url; not every server has a list"
        )
    if f'"{section.model}"' not in body:
        return Check(row, "warn", f"{section.model} is not among the listed models", f"check [{name}] model")
    return Check(row, "ok", f"{section.model} at {upstream.base_url}")


def _models_url(upstream: Upstream) -> str:
    base = upstream.base_url.rstrip("/")
    return f"{base}/models" if upstream.provider == "openai" else f"{base}/v1/models?limit=1000"


def _headers(upstream: Upstream) -> dict[str, str]:
    key = upstream.key
    if upstream.provider == "openai":
        return {"Authorization": f"Bearer {key}"}
    return {"x-api-key": key, "anthropic-version": "2023-06-01"}
