"""Secrets never reach a log, a report or a commit.

Three nets: values that were registered when read (exact match), the shapes of well-known credentials, and values that
are plainly given as a secret (`password=…`, the login of an address, a cookie). All also where escape sequences, hidden
characters, JSON's escapes or base64 stand between. What comes from people's own machines passes a stricter one
(`scrub`): whatever is named a secret, and who the person is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daemon.credentials import possible
from daemon.disguises import undressed, without_encoded
from daemon.given_secrets import holds_given, without_given

if TYPE_CHECKING:
    from pydantic import SecretStr

REDACTED = "[redacted]"
_SHORTEST = 8
_secrets: set[str] = set()


def register_secret(value: SecretStr) -> None:
    """Never let this value through; values too short to be a key are ignored (they would redact ordinary words)."""
    plain = value.get_secret_value()
    if len(plain) >= _SHORTEST:
        _secrets.add(plain)


def redact(text: str) -> str:
    """The text without known secrets and without anything shaped like one.

    Where a secret is only found once escape sequences and the like are taken off, all of them are.
    """
    if len(text) < _SHORTEST:
        return text
    text = _redacted(text)
    plain = undressed(text)
    if plain != text and (bare := _redacted(plain)) != plain:
        text = bare
    return without_encoded(text, _plainly, REDACTED)


def holds_secret(text: str) -> bool:
    """Whether a text carries a known secret or something shaped like a credential, in whatever disguise."""
    return _plainly(text) or _plainly(undressed(text)) or without_encoded(text, _plainly, REDACTED) != text


def _redacted(text: str) -> str:
    for secret in sorted(_secrets, key=len, reverse=True):
        text = text.replace(secret, REDACTED)
    for shape in possible(text):
        text = shape.pattern.sub(REDACTED, text)
    return without_given(text, REDACTED)


def _plainly(text: str) -> bool:
    known = any(secret in text for secret in _secrets)
    return known or any(shape.pattern.search(text) for shape in possible(text)) or holds_given(text)


def redact_value(value: Any) -> Any:
    """The same for nested JSON-like values; other types are left alone."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: redact_value(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [redact_value(item) for item in value]
    return value
