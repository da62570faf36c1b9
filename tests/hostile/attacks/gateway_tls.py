"""The upstream is the configured host and no other: certificates, proxies, names."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.gateway.upstream import Waits
from tests.hostile.attack import Area, Attack, Attempted, Stage, UntriedError, add, attack, holds
from tests.hostile.front import front
from tests.support.gateway import Sleeps, target
from tests.support.upstream import Upstream

CERTIFICATES = {
    "self-signed": ("a certificate that it signed itself", "openssl req -x509 {new} -days 2 {name}"),
    "of-another-host": ("a certificate for another host", "openssl req -x509 {new} -days 2 {other}"),
    "expired": ("a certificate that has expired", "openssl req -x509 {new} -days -1 {name}"),
}
NEW = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -out {cert} -keyout {key}"
NAME = "-subj /CN=localhost -addext subjectAltName=DNS:localhost"
OTHER = "-subj /CN=api.openai.com -addext subjectAltName=DNS:api.openai.com"


def certificate(folder: Path, line: str) -> ssl.SSLContext:
    """A server's context with such a certificate. Blocks."""
    if shutil.which("openssl") is None:
        raise UntriedError("openssl is missing")
    new = NEW.format(cert=folder / "cert.pem", key=folder / "key.pem")
    done = subprocess.run(line.format(new=new, name=NAME, other=OTHER).split(), capture_output=True, check=False)
    if done.returncode != 0:
        raise UntriedError(f"this openssl cannot make such a certificate: {done.stderr[-80:]!r}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


async def asked(stage: Stage, context: ssl.SSLContext | None) -> tuple[Tally, list[bytes]]:
    """One request to a server with that certificate: the tally, and what the server could read."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    stage.stack.callback(server.close)
    address = f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
    here = await front(stage, upstream=target("openai", address, tries=1, timeout_s=20.0))
    await here.ask()
    return here.client.door.tally(), heard


def shown(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        context = await asyncio.to_thread(certificate, stage.folder, CERTIFICATES[name][1])
        tally, heard = await asked(stage, context)
        seen = f"{tally.last_failure}; {len(heard)} requests could be read"
        held = tally.failures == (ProviderFailure.UNREACHABLE,) and "certificate is not trusted" in tally.last_failure
        return holds(held and not heard, seen)

    return run


for each, (what, _) in CERTIFICATES.items():
    add(
        Attack(
            Area.GATEWAY,
            f"certificate-{each}",
            f"stands in for the provider with {what}",
            "refused before a byte of the request, and said",
            shown(each),
            False,
        )
    )


@attack(Area.GATEWAY, "answers in the clear where TLS was asked for", expected="refused, no key sent")
async def no_tls(stage: Stage) -> str:
    tally, heard = await asked(stage, None)
    return holds(not any(b"HTTP" in each for each in heard) and bool(tally.failures), tally.last_failure)


@attack(
    Area.GATEWAY,
    "sets proxies, a .netrc and another authority in honed's environment",
    expected="the configured host is asked directly, with the configured key",
)
async def environment_of_the_host(stage: Stage) -> str:
    netrc = stage.folder / "netrc"
    netrc.write_text("machine 127.0.0.1 login evil password evil\n")
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
    evil = {**dict.fromkeys(names, "http://127.0.0.1:9"), "NETRC": str(netrc), "NO_PROXY": "", "no_proxy": ""}
    before = {name: os.environ.get(name) for name in evil}
    os.environ.update(evil)
    try:
        here = await front(stage)
        answer = await here.ask()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
    shown_key = here.provider.requests[0].headers["authorization"] if here.reached else ""
    return holds(answer.status == 200 and "sk-real" in shown_key, f"{answer.status}, {here.reached} request arrived")


@attack(
    Area.GATEWAY,
    "names another host in Host, in the address and in forwarding headers",
    expected="the provider sees its own name",
)
async def other_host(stage: Stage) -> str:
    here = await front(stage)
    lines = ("X-Forwarded-Host: evil.example", "Forwarded: host=evil.example", "X-Original-URL: http://evil.example/")
    sent = here.head(*lines, f"Content-Length: {len(here.body())}").replace(b"Host: door", b"Host: evil.example")
    statuses, _, _ = await here.bytes(sent + b"\r\n" + here.body())
    seen: dict[str, Any] = dict(here.provider.requests[0].headers)
    told = "evil" in str(seen)
    return holds(statuses == [200] and not told, f"{statuses}, the provider saw host {seen['host']}")


@attack(Area.GATEWAY, "makes the provider's name lead nowhere", expected="a clear message, and no other host tried")
async def name_that_leads_nowhere(stage: Stage) -> str:
    other = await stage.stack.enter_async_context(Upstream())
    waits = Waits(random.Random(1), Sleeps())
    here = await front(stage, upstream=target("openai", "http://honed-nowhere.invalid/v1", tries=1), waits=waits)
    await here.ask()
    tally = here.client.door.tally()
    seen = tally.last_failure
    return holds(tally.failures == (ProviderFailure.UNREACHABLE,) and not other.requests, seen)
