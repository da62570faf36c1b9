"""The gateway's seam: doors are opened for attempts and closed again. The real one is `proxy.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sandboxes.gateway.policy import DoorPolicy, Tally


class Door(Protocol):
    """One attempt's way out: a unix socket that speaks HTTP."""

    @property
    def socket(self) -> Path:
        """Host path of the socket, mode 0666, alone in a private folder (mode 0711)."""

    @property
    def token(self) -> str:
        """The dummy key that requests must carry; worth nothing outside this door."""

    def tally(self) -> Tally:
        """What went through so far."""

    async def close(self) -> Tally:
        """Revoke: cut running requests, remove socket and folder, return the final tally. Safe to call twice."""


class Gateway(Protocol):
    """Opens doors."""

    async def open(self, attempt_id: str, policy: DoorPolicy) -> Door:
        """A new door for one attempt; raises `SandboxError` if its socket cannot be made."""

    async def close(self) -> None:
        """Close every door and the upstream connections."""
