"""Secrets never reach a log, a report or a commit.

Two nets: values that were registered when read (exact match), and the shapes of well-known credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import SecretStr

REDACTED = "[redacted]"
_SHORTEST = 8
_secrets: set[str] = set()

_SHAPES = re.compile(
    r"""sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{16,}      # OpenAI, Anthropic, OpenRouter
      | gh[pousr]_[A-Za-z0-9]{30,} | github_pat_\w{30,}
      | glpat-[A-Za-z0-9_-]{20,}
      | AKIA[0-9A-Z]{16}
      | AIza[0-9A-Za-z_-]{35}
      | xox[abprs]-[A-Za-z0-9-]{10,}
      | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+   # JWT
      | -----BEGIN[ A-Z]*PRIVATE[ ]KEY-----[\s\S]*?(?:-----END[ A-Z]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE,
)
_HEADER = re.compile(r"(?i)\b(authorization|x-api-key|api-key)(\s*[:=]\s*)(?:bearer\s+)?\S+")


def register_secret(value: SecretStr) -> None:
    """Never let this value through; values too short to be a key are ignored (they would redact ordinary words)."""
    plain = value.get_secret_value()
    if len(plain) >= _SHORTEST:
        _secrets.add(plain)


def redact(text: str) -> str:
    """The text without known secrets and without anything shaped like one."""
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    text = _SHAPES.sub(REDACTED, text)
    return _HEADER.sub(rf"\1\2{REDACTED}", text)


def holds_secret(text: str) -> bool:
    """Whether a text carries a known secret or something shaped like a credential."""
    return any(secret in text for secret in _secrets) or _SHAPES.search(text) is not None


def redact_value(value: Any) -> Any:
    """The same for nested JSON-like values; other types are left alone."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [redact_value(item) for item in value]
    return value
