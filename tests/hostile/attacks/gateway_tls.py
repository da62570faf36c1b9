"""The upstream is the configured host and no other: certificates, proxies, names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandboxes.gateway import proxy
from sandboxes.gateway.policy import ProviderFailure, Tally
from sandboxes.gateway.upstream import Waits
from tests.hostile.attack import Area, Attack, Attempted, Stage, UntriedError, add, attack, holds
from tests.hostile.front import front
from tests.support.gateway import Sleeps, target
from tests.support.upstream import Upstream

PAST = ("20200101000000Z", "20200102000000Z")
NOW = ("20200101000000Z", "20491231000000Z")
CERTIFICATES = {
    "self-signed": ("a certificate that nobody vouches for", "localhost", NOW, False),
    "of-another-host": ("a trusted certificate for another host", "api.openai.com", NOW, True),
    "expired": ("a trusted certificate that has expired", "localhost", PAST, True),
}
"""What is shown, for which host, valid from when to when, and whether it is put among the trusted ones."""
NEW = "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout {0}/key.pem -out {0}/csr.pem"
SIGN = "openssl ca -selfsign -batch -notext -config {0}/ca.cnf -keyfile {0}/key.pem -in {0}/csr.pem -out {0}/cert.pem"
CONFIG = """[ca]
default_ca = d
[d]
database = {0}/index.txt
new_certs_dir = {0}
rand_serial = yes
default_md = sha256
policy = p
copy_extensions = copy
[p]
commonName = supplied
"""


def certificate(folder: Path, host: str, valid: tuple[str, str]) -> ssl.SSLContext:
    """A server's context with such a certificate, which is `cert.pem` in the new folder. Blocks."""
    if shutil.which("openssl") is None:
        raise UntriedError("openssl is missing")
    folder.mkdir()
    (folder / "ca.cnf").write_text(CONFIG.format(folder))
    (folder / "index.txt").write_text("")
    name = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    for line in (
        [*NEW.format(folder).split(), *name],
        [*SIGN.format(folder).split(), "-startdate", valid[0], "-enddate", valid[1]],
    ):
        done = subprocess.run(line, capture_output=True, check=False)
        if done.returncode != 0:
            raise UntriedError(f"this openssl cannot make such a certificate: {done.stderr[-120:]!r}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's context for localhost with a certificate that nobody vouches for. Blocks."""
    return certificate(folder / "certificate", "localhost", NOW)


_ALONE = asyncio.Lock()
"""What is trusted is the whole process's: one attack at a time sets it."""


@contextlib.contextmanager
def trusting(file: Path | None) -> Iterator[None]:
    """Gateways that are opened meanwhile trust this certificate as well."""
    with pytest.MonkeyPatch.context() as patch:
        if file is not None:
            context = ssl.create_default_context()
            context.load_verify_locations(file)
            patch.setattr(proxy, "trusted", lambda: context)
        yield


async def asked(stage: Stage, context: ssl.SSLContext | None, trust: Path | None = None) -> tuple[Tally, list[bytes]]:
    """One request to a server with that certificate: the tally, and what the server could read."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    stage.stack.callback(server.close)
    address = f"https://localhost:{server.sockets[0].getsockname()[1]}/v1"
    async with _ALONE:
        with trusting(trust):
            here = await front(stage, upstream=target("openai", address, tries=1, timeout_s=20.0))
    await here.ask()
    return here.client.door.tally(), heard


def shown(name: str) -> Attempted:
    async def run(stage: Stage) -> str:
        _, host, valid, trust = CERTIFICATES[name]
        folder = stage.folder / "bad"
        context = await asyncio.to_thread(certificate, folder, host, valid)
        tally, heard = await asked(stage, context, folder / "cert.pem" if trust else None)
        held = tally.failures == (ProviderFailure.UNREACHABLE,) and "certificate is not trusted" in tally.last_failure
        holds(held and not heard, f"{tally.last_failure}; {len(heard)} requests could be read")
        good = await asyncio.to_thread(certificate, stage.folder / "good", "localhost", NOW)
        _, read = await asked(stage, good, stage.folder / "good" / "cert.pem")
        return holds(read, f"{tally.last_failure}; a right one is spoken to")

    return run


for each, row in CERTIFICATES.items():
    add(
        Attack(
            Area.GATEWAY,
            f"certificate-{each}",
            f"stands in for the provider with {row[0]}",
            "refused before a byte of the request, saying why",
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
    named = set(tally.failures) <= {ProviderFailure.UNREACHABLE, ProviderFailure.TIMEOUT}
    return holds(tally.failures and named and not other.requests, seen)
