"""The doors' dummy keys: whose each is or was, so that one used at another door, or after its end, can be told."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict

REMEMBERED = 10_000
"""Keys whose owner is known, the newest."""


class Tokens:
    """Of all doors of a gateway; keys themselves are not kept."""

    def __init__(self) -> None:
        self._owners: OrderedDict[bytes, str] = OrderedDict()

    def new(self, attempt_id: str) -> str:
        """A key for an attempt's door."""
        token = f"honed-dummy-{secrets.token_hex(16)}"
        self._owners[_digest(token)] = attempt_id
        while len(self._owners) > REMEMBERED:
            self._owners.popitem(last=False)
        return token

    def ended(self, token: str) -> None:
        """The key's attempt has ended."""
        owner = self._owners.get(_digest(token))
        if owner is not None:
            self._owners[_digest(token)] = f"{owner.removesuffix(_ENDED)}{_ENDED}"

    def owner(self, text: str) -> str:
        """The attempt that the key is or was of, and whether that has ended; empty: it is none of ours."""
        return self._owners.get(_digest(text), "")


_ENDED = " (ended)"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
