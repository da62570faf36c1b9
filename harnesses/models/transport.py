"""What both SDKs have in common: how their HTTP client is set, and their errors turned into named failures.

The SDKs' own retries are off, the environment's proxies, organisations and second credentials are not trusted, and
redirects are not followed: a request goes where the configuration says, with the key it says.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypedDict

from harnesses.models.retry import TryFailed
from sandboxes.gateway.failures import classify, parse_error
from sandboxes.gateway.policy import Provider, ProviderFailure, Upstream
from sandboxes.gateway.scrub import scrubbed
from sandboxes.gateway.tls import trusted

if TYPE_CHECKING:
    import anthropic
    import openai

    StatusError = openai.APIStatusError | anthropic.APIStatusError
    ConnectionFailed = openai.APIConnectionError | anthropic.APIConnectionError

CONNECT_S = 10.0


class HttpOptions(TypedDict):
    """Arguments of an SDK's HTTP client."""

    trust_env: bool
    follow_redirects: bool
    verify: ssl.SSLContext


def http_options() -> HttpOptions:
    """How both SDKs' HTTP clients are made."""
    return {"trust_env": False, "follow_redirects": False, "verify": trusted()}


def connect_s(upstream: Upstream) -> float:
    """Seconds a connection may take."""
    return min(CONNECT_S, upstream.timeout_s)


def status_failure(upstream: Upstream, error: StatusError) -> TryFailed:
    """An error answer, named."""
    headers = {name.lower(): value for name, value in error.response.headers.items()}
    body = error.response.content
    kind = classify(error.status_code, body)
    detail = parse_error(body).message
    if 300 <= error.status_code < 400:
        detail = "redirects are not followed"
    if kind is ProviderFailure.AUTH:
        detail = ""  # such messages show parts of the key
    return TryFailed(kind, status=error.status_code, headers=headers, detail=scrubbed(detail, upstream))


def connection_failure(error: ConnectionFailed) -> TryFailed:
    """No answer, or half of one, named."""
    cause = error.__cause__
    # By name: the SDKs bring their own HTTP library, which is no dependency of ours.
    names = {kind.__name__ for kind in type(cause).__mro__}
    if names & {"ConnectTimeout", "ConnectError"}:
        return TryFailed(ProviderFailure.UNREACHABLE, detail=_reason(str(cause), timeout="ConnectTimeout" in names))
    if "TimeoutException" in names:
        return TryFailed(ProviderFailure.TIMEOUT)
    if names & {"RemoteProtocolError", "ReadError"}:
        return TryFailed(ProviderFailure.CUT_STREAM)
    return TryFailed(ProviderFailure.UNREACHABLE, detail=type(cause or error).__name__)


def bad_reply(what: str) -> TryFailed:
    """An answer that is none."""
    return TryFailed(ProviderFailure.BAD_REPLY, detail=what)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """The SDKs check no types: what trips over an answer of another shape is that answer's fault."""
    try:
        yield
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise bad_reply(f"not {what} ({type(error).__name__})") from None


def schema_instruction(schema: dict[str, Any]) -> str:
    """Asks for JSON in words, where the provider cannot be asked natively."""
    return (
        "Reply with exactly one JSON object that satisfies this JSON schema, and nothing before or after it:\n"
        + json.dumps(schema, separators=(",", ":"))
    )


def key_of(upstream: Upstream, provider: Provider) -> str:
    """The real key, or a placeholder for servers that need none."""
    return upstream.key or f"no-{provider}-key"


def _reason(said: str, *, timeout: bool) -> str:
    text = said.lower()
    if timeout:
        return "cannot connect"
    if "certificate" in text:
        return "its TLS certificate is not trusted"
    if any(word in text for word in ("name or service", "getaddrinfo", "nodename", "resolution")):
        return "host name not found"
    return "connection refused" if "refused" in text or "all connection attempts failed" in text else "cannot connect"
