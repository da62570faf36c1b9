"""A walk over a tree that hostile code made: no symlink is followed, and a bounded number of descriptors is open.

Each folder is opened from the root downwards, component by component, with `O_NOFOLLOW` relative to a descriptor, so
that swapping a folder for a link while we walk leads nowhere. What vanishes meanwhile is passed over.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
MAX_NAMES = 200_000
"""Names read of one folder; the rest is told as `Entry.truncated`."""

Parts = tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One thing found. `info` is its `lstat`; None where it could not be looked at (`problem` says why)."""

    parts: Parts
    """Relative to the root, as the system gives it (undecodable bytes as surrogates)."""
    info: os.stat_result | None
    folder_fd: int
    """Descriptor of the folder that holds it, open only until the walk goes on."""
    problem: str = ""

    @property
    def name(self) -> str:
        """The last component."""
        return self.parts[-1]

    @property
    def path(self) -> str:
        """POSIX path relative to the root, safe to print."""
        return ascii("/".join(self.parts))[1:-1]


def open_folder(root_fd: int, parts: Parts) -> int:
    """A new descriptor of the folder `parts` under `root_fd`; OSError if a component is a link or no folder."""
    fd = os.dup(root_fd)
    for part in parts:
        try:
            deeper = os.open(part, FOLDER_FLAGS, dir_fd=fd)
        finally:
            os.close(fd)
        fd = deeper
    return fd


def walk(root: Path, *, max_depth: int) -> Iterator[Entry]:
    """Everything under `root` in sorted order, folders before what they hold; not below `max_depth` components.

    Raises OSError only if the root itself cannot be opened.
    """
    root_fd = os.open(root, FOLDER_FLAGS)
    try:
        pending: list[Parts] = [()]
        while pending:
            folder = pending.pop()
            below = yield from _folder(root_fd, folder, max_depth)
            pending.extend(reversed(below))
    finally:
        os.close(root_fd)


def _folder(root_fd: int, folder: Parts, max_depth: int) -> Generator[Entry, None, list[Parts]]:
    """Yield one folder's entries; return those of its folders that are to be entered."""
    try:
        fd = open_folder(root_fd, folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        yield Entry(folder or (".",), None, root_fd, f"cannot be entered ({error.strerror})")
        return []
    below: list[Parts] = []
    try:
        names, more = _names(fd)
        for name in names:
            entry = _look(fd, (*folder, name))
            if entry is None:
                continue
            yield entry
            if entry.info is not None and stat.S_ISDIR(entry.info.st_mode):
                if len(entry.parts) < max_depth:
                    below.append(entry.parts)
                else:
                    yield Entry(entry.parts, None, fd, f"deeper than {max_depth} folders")
        if more:
            yield Entry(folder or (".",), None, fd, f"holds more than {MAX_NAMES} names")
    finally:
        os.close(fd)
    return below


def _names(fd: int) -> tuple[list[str], bool]:
    with os.scandir(fd) as found:
        names = [entry.name for entry in islice(found, MAX_NAMES)]
        more = next(found, None) is not None
    return sorted(names), more


def _look(fd: int, parts: Parts) -> Entry | None:
    try:
        return Entry(parts, os.stat(parts[-1], dir_fd=fd, follow_symlinks=False), fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Entry(parts, None, fd, f"cannot be looked at ({error.strerror})")
