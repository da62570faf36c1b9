"""Which headers pass a door. Both ways are allow-lists, so credentials, cookies and hop-by-hop headers never do."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandboxes.gateway.policy import Upstream

_UP = {
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "openai-beta",
    "originator",
    "user-agent",
    "x-app",
    "x-codex-beta-features",
    "x-openai-internal-codex-responses-lite",
}
_UP_PREFIXES = ("x-stainless-",)
_DOWN = {"content-type", "openai-processing-ms", "request-id", "retry-after", "x-request-id", "x-should-retry"}


def upstream_headers(theirs: Mapping[str, str], upstream: Upstream) -> dict[str, str]:
    """What is sent on: the allowed ones of the sandbox's headers, and the real key."""
    kept = {name.lower(): value for name, value in theirs.items() if _allowed(name.lower())}
    kept["content-type"] = "application/json"
    # Plain bytes, so that usage can be read off the wire as it passes.
    kept["accept-encoding"] = "identity"
    key = upstream.api_key.get_secret_value().strip()
    if upstream.provider == "anthropic":
        kept.setdefault("anthropic-version", "2023-06-01")
    if key:
        kept |= {"x-api-key": key} if upstream.provider == "anthropic" else {"authorization": f"Bearer {key}"}
    return kept


def downstream_headers(theirs: Mapping[str, str]) -> dict[str, str]:
    """What is passed back to the sandbox."""
    return {name.lower(): value for name, value in theirs.items() if name.lower() in _DOWN}


def presents(headers: Mapping[str, str], token: str) -> bool:
    """Does the request carry the door's token (`Authorization: Bearer` or `x-api-key`)? Compared in constant time."""
    scheme, _, bearer = headers.get("Authorization", "").partition(" ")
    shown = [headers.get("x-api-key", ""), bearer.strip() if scheme.lower() == "bearer" else ""]
    return any(hmac.compare_digest(candidate.encode(errors="surrogateescape"), token.encode()) for candidate in shown)


def _allowed(name: str) -> bool:
    return name in _UP or name.startswith(_UP_PREFIXES)
