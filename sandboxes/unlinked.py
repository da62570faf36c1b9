"""Files of a box that have no name any more but are still open: they take disk that no walk over its rooms sees.

Found through `/proc` of the host, as far as honed may look there: where it runs in a container of its own, or the
engine elsewhere, nothing is found.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")


def unlinked_bytes(first: int, room: Path) -> int:
    """Bytes of the disk under `room` that nameless open files of the box of process `first` take (blocks)."""
    try:
        disk = room.stat().st_dev
        space = _space(first)
    except OSError:
        return 0
    found: dict[int, int] = {}
    for pid in _pids(space):
        found.update(_nameless(pid, disk))
    return sum(found.values())


def _space(pid: int) -> int:
    """Number of its process namespace; raises `OSError`."""
    return (_PROC / str(pid) / "ns" / "pid").stat().st_ino


def _pids(space: int) -> Iterator[int]:
    for name in os.listdir(_PROC):  # noqa: PTH208 - many, often
        if name.isdigit():
            try:
                same = _space(int(name)) == space
            except OSError:  # gone, or somebody else's
                continue
            if same:
                yield int(name)


def _nameless(pid: int, disk: int) -> dict[int, int]:
    """Inode to bytes."""
    found: dict[int, int] = {}
    folder = _PROC / str(pid) / "fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return found
    for name in names:
        try:
            info = os.stat(f"{folder}/{name}")  # noqa: PTH116
        except OSError:
            continue
        if info.st_nlink == 0 and info.st_dev == disk:
            found[info.st_ino] = info.st_blocks * 512
    return found
