"""Keeps the real key out of whatever goes back to a sandbox or into a message, should a provider echo it.

Masked are the key itself and what it becomes where somebody wraps it: percent-encoded, in hexadecimal, in base64 at any
place of a longer text. Every key that was ever sent to that provider counts, not only the newest.
"""

from __future__ import annotations

import base64
import functools
import re
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

if TYPE_CHECKING:
    from sandboxes.gateway.policy import Upstream

MASK = "[key removed]"
_WRAPPED = 8
"""Shorter keys are masked as they are only: what they become would be too ordinary."""
_Text = TypeVar("_Text", str, bytes)


def scrubbed(text: _Text, upstream: Upstream) -> _Text:
    """The same text or bytes with the upstream's keys masked."""
    for key in upstream.keys:
        if isinstance(text, bytes):
            text = _pattern(key).sub(MASK.encode(), text)
        else:
            text = (
                _pattern(key).sub(MASK.encode(), text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
            )
    return text


class KeyScrubber:
    """Masks the keys in a stream of chunks, also where one is split between two.

    Only bytes that may be the beginning of a key are held back, so ordinary chunks pass at once.
    """

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._forms = tuple(form for key in upstream.keys for form in _forms(key))
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What may be passed on now."""
        if not self._forms:
            return chunk
        data = scrubbed(self._held + chunk, self._upstream)
        keep = max((_begun(data, form) for form in self._forms), default=0)
        self._held = data[len(data) - keep :]
        return data[: len(data) - keep]

    def flush(self) -> bytes:
        """What was held back and turned out harmless."""
        held, self._held = self._held, b""
        return held


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of the data are the beginning of the form."""
    start = max(0, len(data) - len(form) + 1)
    at = data.find(form[:1], start)
    while at >= 0 and not form.startswith(data[at:]):
        at = data.find(form[:1], at + 1)
    return len(data) - at if at >= 0 else 0


@functools.lru_cache(maxsize=64)
def _pattern(key: str) -> re.Pattern[bytes]:
    return re.compile(b"|".join(map(re.escape, _forms(key))))


@functools.lru_cache(maxsize=64)
def _forms(key: str) -> tuple[bytes, ...]:
    """The longest first."""
    plain = key.encode()
    forms = {plain}
    if len(plain) >= _WRAPPED:
        forms |= {quote(key, safe="").encode(), plain.hex().encode(), plain.hex().upper().encode()}
        for ahead in range(3):
            whole = base64.b64encode(bytes(ahead) + plain)
            # Letters that hold bits of the neighbours are left out.
            middle = whole[-(-ahead * 8 // 6) : (ahead + len(plain)) * 8 // 6]
            forms |= {middle, middle.replace(b"+", b"-").replace(b"/", b"_")}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))
