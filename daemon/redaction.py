"""Secrets never reach a log, a report or a commit.

Two nets: values that were registered when read (exact match), and the shapes of well-known credentials. What comes
from people's own machines passes a third (`scrub`): whatever is named a secret, and who the person is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daemon.credentials import possible

if TYPE_CHECKING:
    from pydantic import SecretStr

REDACTED = "[redacted]"
_SHORTEST = 8
_secrets: set[str] = set()

_HEADER = re.compile(r"(?i)\b(authorization|x-api-key|api-key)(\s*[:=]\s*)(?:(?:bearer|basic)\s+)?\S+")


def register_secret(value: SecretStr) -> None:
    """Never let this value through; values too short to be a key are ignored (they would redact ordinary words)."""
    plain = value.get_secret_value()
    if len(plain) >= _SHORTEST:
        _secrets.add(plain)


def redact(text: str) -> str:
    """The text without known secrets and without anything shaped like one."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    for shape in possible(text):
        text = shape.pattern.sub(REDACTED, text)
    lower = text.lower()
    if "authorization" in lower or "api-key" in lower:
        text = _HEADER.sub(rf"\1\2{REDACTED}", text)
    return text


def holds_secret(text: str) -> bool:
    """Whether a text carries a known secret or something shaped like a credential."""
    return any(secret in text for secret in _secrets) or any(shape.pattern.search(text) for shape in possible(text))


def redact_value(value: Any) -> Any:
    """The same for nested JSON-like values; other types are left alone."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [redact_value(item) for item in value]
    return value
