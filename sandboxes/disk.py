"""How much disk a box's rooms take: polled while its command runs, because overlay and bind mounts have no quota.

Also whether the host's disk has room at all: an agent that cannot write for lack of it must not be blamed.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from sandboxes.guard import Stop
from sandboxes.sandbox import MIB, Ending
from sandboxes.walk import walk

ENTRY_BYTES = 4096
"""Each thing counts at least this much, so that a flood of empty files is bounded too."""
MAX_DEPTH = 128
FREE_BYTES = 16 * MIB
"""With less than this free, the host's disk counts as full."""
_CLOSED = f"({os.strerror(errno.EACCES)})"
_HOSTS = ("the host's disk is full", "the size of workspace and out cannot be measured")


def disk_stop(rooms: tuple[Path, ...], limit_bytes: int) -> Stop | None:
    """As `over_limit`; whether it is the box's own doing, or the host's, is the ending."""
    if detail := over_limit(rooms, limit_bytes):
        return Stop(Ending.KILLED if detail.startswith(_HOSTS) else Ending.OVER_DISK, detail)
    return None


def over_limit(rooms: tuple[Path, ...], limit_bytes: int) -> str:
    """One line why the command must not go on: rooms over the limit together, or a full host; else nothing.

    Allocated blocks count, hard links once.
    """
    try:
        return _full(rooms) or _measure(rooms, limit_bytes)
    except PermissionError as error:  # a room that was closed to us from inside
        return f"workspace and out cannot be measured: {error.strerror}"
    except OSError as error:
        return f"the size of workspace and out cannot be measured: {error.strerror}"


def is_full(folder: Path) -> bool:
    """The host's disk under `folder` has next to no room left; raises `OSError`."""
    disk = os.statvfs(folder)
    return bool(disk.f_blocks) and disk.f_bavail * disk.f_frsize < FREE_BYTES


def _full(rooms: tuple[Path, ...]) -> str:
    for room in rooms:
        if is_full(room):
            return f"the host's disk is full: make room where {room.parent.name} lies"
    return ""


def _measure(rooms: tuple[Path, ...], limit_bytes: int) -> str:
    used = 0
    seen: set[tuple[int, int]] = set()
    for room in rooms:
        for entry in walk(room, max_depth=MAX_DEPTH):
            if entry.info is None:
                if entry.problem.startswith("deeper") or entry.problem.endswith(_CLOSED):
                    return f"{room.name} cannot be measured: {entry.path}: {entry.problem}"
                continue
            key = (entry.info.st_dev, entry.info.st_ino)
            if entry.info.st_nlink > 1 and key in seen:
                used += ENTRY_BYTES
            else:
                seen.add(key)
                used += max(entry.info.st_blocks * 512, ENTRY_BYTES)
            if used > limit_bytes:
                return f"workspace and out hold more than {limit_bytes / MIB:.0f} MiB"
    return ""
