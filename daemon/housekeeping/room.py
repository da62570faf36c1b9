"""Asked before each attempt: is there room on the disk? A person is told to make some, a daemon waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from daemon.housekeeping.disk import Disk, DiskLevel, look_at_disk
from daemon.rollouts.stop import DiskFull
from sandboxes.sandbox import MIB

log = structlog.get_logger(__name__)

WAIT_S = 15.0


@dataclass
class Room:
    """The disk under a state folder. Every change of its level is one log line."""

    folder: Path
    patient: bool = False
    """Wait for room, instead of stopping the run."""
    look: Callable[[Path], Disk] = look_at_disk
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    level: DiskLevel = field(default=DiskLevel.OK, init=False)
    """As it was seen last."""

    async def __call__(self) -> None:
        """Return once an attempt may begin; raises `DiskFull` where nobody waits."""
        while await self._full():
            if not self.patient:
                msg = f"the disk that holds {self.folder} is full: free some space, then the same command goes on"
                raise DiskFull(msg)
            await self.sleep(WAIT_S)

    async def _full(self) -> bool:
        try:
            disk = await asyncio.to_thread(self.look, self.folder)
        except OSError as error:
            # It proves nothing; what cannot be written fails by itself, with its own words.
            log.warning("disk_not_seen", folder=str(self.folder), error=str(error))
            return False
        if disk.level is not self.level:
            say = log.info if disk.level is DiskLevel.OK else log.warning
            say("disk", level=disk.level.value, before=self.level.value, free_mb=disk.free // MIB)
            self.level = disk.level
        return disk.level is DiskLevel.FULL
