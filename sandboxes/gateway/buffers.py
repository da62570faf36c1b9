"""How much of the sandboxes' requests is held at once: bounded for a door, and for all doors together.

A door that holds too much is refused more: its agent alone is to blame. Where all together do, a large request waits;
small ones never do, so that no agent is held up by another one's flood.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandboxes.gateway.bounds import MIB
from sandboxes.gateway.dialects import Refusal

if TYPE_CHECKING:
    from types import TracebackType

    from sandboxes.gateway.bounds import Bounds

SMALL = 4 * MIB
"""What no request waits for: at most `Bounds.requests` times as much for a door, beside `Bounds.all_bytes`."""


class AllBuffers:
    """What is held for large requests of all doors."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._freed = asyncio.Event()

    @property
    def held(self) -> int:
        """Bytes."""
        return self._held

    async def take(self, size: int) -> None:
        """Wait until there is room for so many bytes more."""
        while self._held and self._held + size > self._most:
            self._freed.clear()
            await self._freed.wait()
        self._held += size

    def give(self, size: int) -> None:
        """They are held no longer."""
        self._held -= size
        self._freed.set()


class DoorBuffers:
    """What one door holds."""

    def __init__(self, together: AllBuffers, bounds: Bounds) -> None:
        self._together = together
        self._most = bounds.door_bytes
        self._held = 0
        self._turns = asyncio.Semaphore(bounds.requests)

    def request(self) -> Held:
        """For one request: a context that waits for its turn."""
        return Held(self, self._together, self._turns)

    def take(self, size: int) -> None:
        """Raises `Refusal` where the door would hold too much."""
        if self._held + size > self._most:
            why = f"the requests of this attempt that run at once are larger than {self._most} bytes"
            raise Refusal("body: too much at once", why, status=413)
        self._held += size

    def give(self, size: int) -> None:
        """They are held no longer."""
        self._held -= size


class Held:
    """What one request holds."""

    def __init__(self, door: DoorBuffers, together: AllBuffers, turns: asyncio.Semaphore) -> None:
        self._door = door
        self._together = together
        self._turns = turns
        self._size = 0
        self._large = 0

    async def __aenter__(self) -> Held:
        await self._turns.acquire()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._door.give(self._size)
        self._together.give(self._large)
        self._turns.release()

    async def grow(self, size: int) -> None:
        """The request holds so many bytes at least. Raises `Refusal`; may wait."""
        more = size - self._size
        if more <= 0:
            return
        self._door.take(more)
        self._size = size
        large = max(0, size - SMALL) - self._large
        if large > 0:
            await self._together.take(large)
            self._large += large
