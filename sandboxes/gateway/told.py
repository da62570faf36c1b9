"""What a sandbox is told of a provider's own error: its kind and its words, without anybody's address or key."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from sandboxes.gateway.dialects import shown
from sandboxes.gateway.failures import host_of, parse_error
from sandboxes.gateway.scrub import scrubbed

if TYPE_CHECKING:
    from sandboxes.gateway.policy import Upstream

_MESSAGE_CHARS = 2000
_ADDRESS = re.compile(
    r"(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b|\breq_[A-Za-z0-9_-]{8,}"
)


def told_error(body: bytes, upstream: Upstream) -> dict[str, Any]:
    """The error object in the provider's own format, made anew of its type, code and message."""
    error = _error(body)
    message = scrubbed(parse_error(body).message, upstream)
    host = host_of(upstream.base_url)
    for name in (host, host.rpartition(":")[0]):
        message = message.replace(name, "[address]") if name else message
    message = shown(" ".join(_ADDRESS.sub("[address]", message).split()), _MESSAGE_CHARS)
    told = {
        key: shown(scrubbed(value, upstream), 100)
        for key in ("type", "code")
        if isinstance(value := error.get(key), str)
    }
    if upstream.provider == "anthropic":
        return {"type": "error", "error": {"type": told.get("type", "invalid_request_error"), "message": message}}
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **told}}


def _error(body: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if isinstance(parsed, list) and parsed:
        parsed = parsed[0]
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else None
    return error if isinstance(error, dict) else {}
