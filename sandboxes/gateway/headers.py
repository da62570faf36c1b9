"""Which headers pass a door. Both ways are allow-lists, so credentials, cookies and hop-by-hop headers never do."""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from multidict import CIMultiDictProxy

    from sandboxes.gateway.policy import Provider, Upstream

_UP = {
    "accept",
    "anthropic-version",
    "openai-beta",
    "originator",
    "user-agent",
    "x-app",
    "x-codex-beta-features",
    "x-openai-internal-codex-responses-lite",
}
_UP_PREFIXES = ("x-stainless-",)
_UP_CHARS = 4096
_TYPES = {"application/json", "text/event-stream"}
_BETAS = re.compile(
    r"(context-1m|fast-mode|mcp-|code-execution|files-api|web-(search|fetch)|message-batches|skills-|fallback|managed-)"
)
"""Beginnings of Anthropic's beta names that change the price, or let the provider act for the agent."""


def upstream_headers(theirs: CIMultiDictProxy[str], upstream: Upstream) -> dict[str, str]:
    """What is sent on: the allowed ones of the sandbox's headers; the real key comes to it last (`key_headers`)."""
    kept = {name.lower(): value for name, value in theirs.items() if _allowed(name.lower(), value)}
    betas = [name.strip() for value in theirs.getall("anthropic-beta", ()) for name in value.split(",")]
    passed = ",".join(name for name in betas if name and not _BETAS.match(name.lower()))
    if _sendable(passed) and passed:
        kept["anthropic-beta"] = passed
    kept["content-type"] = "application/json"
    # Plain bytes, so that usage can be read off the wire as it passes.
    kept["accept-encoding"] = "identity"
    if upstream.provider == "anthropic":
        kept.setdefault("anthropic-version", "2023-06-01")
    return kept


def key_headers(provider: Provider, key: str) -> dict[str, str]:
    """The header that carries the real key; none where there is no key."""
    if not key:
        return {}
    return {"x-api-key": key} if provider == "anthropic" else {"authorization": f"Bearer {key}"}


def downstream_headers(theirs: Mapping[str, str]) -> dict[str, str]:
    """What is passed back to the sandbox with an answer: its kind alone, no address, id or name of the provider's."""
    kind = theirs.get("content-type", "").partition(";")[0].strip().lower()
    return {"content-type": kind if kind in _TYPES else "application/octet-stream"}


def presents(headers: CIMultiDictProxy[str], token: str) -> bool:
    """Whether the request carries the door's token (`Authorization: Bearer` or `x-api-key`), and no other beside it.

    Compared in constant time.
    """
    shown = presented(headers)
    right = [hmac.compare_digest(each.encode(errors="surrogateescape"), token.encode()) for each in shown]
    twice = any(len(headers.getall(name, ())) > 1 for name in ("Authorization", "x-api-key"))
    return bool(right) and all(right) and not twice


def presented(headers: CIMultiDictProxy[str]) -> list[str]:
    """Whatever is shown as a token."""
    bearers = [value.partition(" ") for value in headers.getall("Authorization", ())]
    return [
        *headers.getall("x-api-key", ()),
        *(bearer.strip() for scheme, _, bearer in bearers if scheme.lower() == "bearer"),
    ]


def _allowed(name: str, value: str) -> bool:
    return (name in _UP or name.startswith(_UP_PREFIXES)) and _sendable(value)


def _sendable(value: str) -> bool:
    """Other values could not be written, or would be read in more than one way."""
    return value.isascii() and value.isprintable() and len(value) <= _UP_CHARS
