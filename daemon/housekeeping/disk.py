"""Whether the disk has room for another attempt: ok, low (said aloud) or full (none is begun)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from sandboxes.disk import FREE_BYTES
from sandboxes.sandbox import GIB, MIB

_LOW = (0.05, 5 * GIB)
_FULL = (0.01, 512 * MIB)
"""A share of the disk, and at most so many bytes."""
_LEAST = 2 * FREE_BYTES
"""Full is always said before an attempt would fail for lack of room."""


class DiskLevel(StrEnum):
    """How much room there is."""

    OK = "ok"
    LOW = "low"
    FULL = "full"


@dataclass(frozen=True)
class Disk:
    """A file system as it stands, in bytes."""

    free: int
    """For honed's user."""
    total: int

    @property
    def level(self) -> DiskLevel:
        """As `disk_level`."""
        return disk_level(self.free, self.total)


def disk_level(free: int, total: int) -> DiskLevel:
    """The level of a disk by its bytes; one that tells no size is ok."""
    if total <= 0:
        return DiskLevel.OK
    full = max(_LEAST, min(int(total * _FULL[0]), _FULL[1]))
    low = max(2 * full, min(int(total * _LOW[0]), _LOW[1]))
    if free < full:
        return DiskLevel.FULL
    return DiskLevel.LOW if free < low else DiskLevel.OK


def look_at_disk(folder: Path) -> Disk:
    """The disk that holds a folder; raises `OSError`. Blocking."""
    found = os.statvfs(folder)
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)
