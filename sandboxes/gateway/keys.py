"""A key that can be got anew: what a command prints, or a file holds, may have another life than a run.

Invariants: a refused key is renewed once, by whoever is told first; the others take what that brought. A renewal that
brings the same key again, or none, is not tried a second time for that key.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from pydantic import SecretStr

if TYPE_CHECKING:
    from collections.abc import Callable

log = structlog.get_logger(__name__)


class KeyRenewal:
    """Shared by all that send one provider's key."""

    def __init__(self, fetch: Callable[[SecretStr], SecretStr | None], name: str) -> None:
        """`fetch` is given the refused key and blocks; None: there is no other. `name` says where keys come from."""
        self._fetch = fetch
        self._name = name
        self._lock = asyncio.Lock()
        self._refused: set[str] = set()
        self.seen: tuple[SecretStr, ...] = ()
        """Keys that were got, oldest first."""

    def current(self, first: SecretStr) -> SecretStr:
        """The newest key, `first` until one was got."""
        return self.seen[-1] if self.seen else first

    async def renewed(self, refused: str, now: Callable[[], str]) -> bool:
        """Whether there is another key than the refused one by now; `now` tells the key that would be sent."""
        async with self._lock:
            if now() != refused:
                return True
            if refused in self._refused:
                return False
            self._refused.add(refused)
            fetched = await asyncio.to_thread(self._fetch, SecretStr(refused))
            if fetched is None or fetched.get_secret_value().strip() in {"", refused}:
                log.warning("the key was refused, and there is no other", source=self._name)
                return False
            self.seen = (*self.seen, fetched)
            log.info("the key was refused and got anew", source=self._name)
            return True
