"""A certificate that nobody vouches for is not trusted, by the gateway and by the model clients."""

from __future__ import annotations

import asyncio
import random
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.factory import make_client
from harnesses.models.retry import Patience
from sandboxes.gateway.policy import ProviderError, ProviderFailure
from sandboxes.gateway.tls import trusted
from tests.support.gateway import Sleeps, opened, policy, target

ASK = ModelRequest("", (ChatMessage("user", "hi"),))


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A self-signed certificate for localhost, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    request = f"req -x509 {curve} -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(["openssl", *request.split(), "-out", cert, "-keyout", key], check=True, capture_output=True)
    return cert, key


async def test_an_untrusted_certificate_is_refused_by_gateway_and_clients(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    base_url = f"https://localhost:{server.sockets[0].getsockname()[1]}"
    try:
        for provider, dialect in (("openai", "chat"), ("anthropic", "messages")):
            upstream = target(provider, base_url, tries=1)  # type: ignore[arg-type]
            async with opened(tmp_path / "s", policy(dialect, "", upstream=upstream)) as sandbox:
                await sandbox.ask(dialect)
                assert "certificate is not trusted" in sandbox.door.tally().last_failure
            client = make_client(upstream, "m", patience=Patience(sleep=Sleeps(), rng=random.Random(1)))
            with pytest.raises(ProviderError, match="certificate is not trusted") as caught:
                await client.complete(ASK)
            await client.close()
            assert caught.value.kind is ProviderFailure.UNREACHABLE
    finally:
        server.close()
    assert heard == []


def test_the_context_verifies() -> None:
    assert trusted().verify_mode is ssl.CERT_REQUIRED
    assert trusted().check_hostname
    assert trusted() is trusted()
