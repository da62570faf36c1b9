"""How much disk a box's rooms take: polled while its command runs, because overlay and bind mounts have no quota.

Looked at every half second, and at once where the disk's free room falls fast. One file can never outgrow the bound:
the engines set it as the limit of a file's size.

Also whether the host's disk has room at all: an agent that cannot write for lack of it must not be blamed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from sandboxes.guard import Stop
from sandboxes.sandbox import MIB, Ending
from sandboxes.unlinked import unlinked_bytes
from sandboxes.walk import walk

ENTRY_BYTES = 4096
"""Each thing counts at least this much, so that a flood of empty files is bounded too."""
MAX_DEPTH = 128
FREE_BYTES = 16 * MIB
"""With less than this free, the host's disk counts as full."""
_STEPS = 16
"""A look is due at once when the disk lost this part of the bound."""
_CLOSED = f"({os.strerror(errno.EACCES)})"
_HOSTS = ("the host's disk is full", "the size of workspace and out cannot be measured")


class DiskWatch:
    """The looks at one box's disk. `first` tells its first process's number on the host, 0 where nobody knows it."""

    def __init__(self, rooms: tuple[Path, ...], limit_bytes: int, *, first: Callable[[], int] = int) -> None:
        self._rooms = rooms
        self._limit = limit_bytes
        self._first = first
        self._pid: int | None = None
        self._free: tuple[int, int] | None = None

    def __call__(self) -> Stop | None:
        """As `over_limit`; whether it is the box's own doing, or the host's, is the ending. Blocking."""
        self._free = self._room_left()
        if self._pid is None:
            self._pid = self._first()
        hidden = unlinked_bytes(self._pid, self._rooms[0]) if self._pid else 0
        if detail := over_limit(self._rooms, self._limit, hidden):
            return Stop(Ending.KILLED if detail.startswith(_HOSTS) else Ending.OVER_DISK, detail)
        return None

    def falling(self) -> bool:
        """The disk lost so much room since the last look that the next one should not wait. One system call."""
        if self._free is None:
            self._free = self._room_left()
            return False
        blocks, inodes = (before - now for before, now in zip(self._free, self._room_left(), strict=True))
        return blocks > self._limit // _STEPS or inodes > self._limit // ENTRY_BYTES // _STEPS

    def _room_left(self) -> tuple[int, int]:
        try:
            disk = os.statvfs(self._rooms[0])
        except OSError:  # the look itself says what is wrong
            return (0, 0)
        return (disk.f_bfree * disk.f_frsize, disk.f_ffree)


def over_limit(rooms: tuple[Path, ...], limit_bytes: int, hidden_bytes: int = 0) -> str:
    """One line why the command must not go on: rooms over the limit together, or a full host; else nothing.

    Allocated blocks count, hard links once; `hidden_bytes` are of files that have no name any more.
    """
    try:
        return _full(rooms) or _measure(rooms, limit_bytes, hidden_bytes)
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


def _measure(rooms: tuple[Path, ...], limit_bytes: int, hidden_bytes: int) -> str:
    used = hidden_bytes
    if used > limit_bytes:
        return f"workspace and out hold more than {limit_bytes / MIB:.0f} MiB in deleted files that are open"
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
