"""A gateway without HTTP for unit tests: doors have real sockets that nobody answers, and a tally that tests set."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import socket
from typing import TYPE_CHECKING

from sandboxes.gateway.listener import SOCKET_NAME, make_folder
from sandboxes.gateway.policy import DoorPolicy, Tally
from sandboxes.sandbox import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class FakeDoor:
    """A `Door` whose tally is what the test says."""

    def __init__(self, attempt_id: str, policy: DoorPolicy, folder: Path, tally: Tally) -> None:
        self.attempt_id = attempt_id
        self.policy = policy
        self.closed = False
        self.counted = tally
        """What `tally()` says; set it as the test goes."""
        self._folder = folder
        self._token = f"honed-dummy-{secrets.token_hex(16)}"

    @property
    def socket(self) -> Path:
        """Host path of a socket that refuses connections."""
        return self._folder / SOCKET_NAME

    @property
    def token(self) -> str:
        """The dummy key."""
        return self._token

    def tally(self) -> Tally:
        """What the test says."""
        return self.counted

    async def close(self) -> Tally:
        """Remove the folder; safe to call twice."""
        self.closed = True
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)
        return self.counted


class FakeGateway:
    """A `Gateway` that keeps its doors for the test to look at."""

    def __init__(self, sockets: Path, *, tally: Callable[[str], Tally] | None = None) -> None:
        self.doors: list[FakeDoor] = []
        """In the order of opening."""
        self._sockets = sockets
        self._tally = tally or (lambda attempt_id: Tally())

    async def open(self, attempt_id: str, policy: DoorPolicy) -> FakeDoor:
        """A new door; raises `SandboxError` if its socket cannot be made."""
        try:
            folder = await asyncio.to_thread(_bind, self._sockets)
        except OSError as error:
            raise SandboxError(f"cannot open a gateway socket under {self._sockets}: {error}") from error
        door = FakeDoor(attempt_id, policy, folder, self._tally(attempt_id))
        self.doors.append(door)
        return door

    async def close(self) -> None:
        """Close every door."""
        await asyncio.gather(*(door.close() for door in self.doors))


def _bind(sockets: Path) -> Path:
    folder = make_folder(sockets)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        held.bind(str(folder / SOCKET_NAME))
    (folder / SOCKET_NAME).chmod(0o666)
    return folder
