"""Keeps the real key out of whatever goes back to a sandbox or into a message, should a provider echo it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from sandboxes.gateway.policy import Upstream

MASK = "[key removed]"
_Text = TypeVar("_Text", str, bytes)


def scrubbed(text: _Text, upstream: Upstream) -> _Text:
    """The same text or bytes with the upstream's key masked."""
    key = upstream.api_key.get_secret_value().strip()
    if not key:
        return text
    if isinstance(text, bytes):
        return text.replace(key.encode(), MASK.encode())
    return text.replace(key, MASK)


class KeyScrubber:
    """Masks a key in a stream of chunks, also where it is split between two.

    Only bytes that may be the beginning of the key are held back, so ordinary chunks pass at once.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._key = upstream.api_key.get_secret_value().strip().encode()
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now."""
        if not self._key:
            return chunk
        data = (self._held + chunk).replace(self._key, MASK.encode())
        keep = next((n for n in range(min(len(self._key) - 1, len(data)), 0, -1) if data.endswith(self._key[:n])), 0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def flush(self) -> bytes:
        """What was held back and turned out harmless."""
        held, self._held = self._held, b""
        return held
