"""Reading a room back as hostile data.

Nothing but regular files is ever opened, no link is followed, and sizes are checked before a byte is read. Hard links
are read like any file: a link cannot be made across mounts, so it names nothing but the room's own data, and counts
against the caps each time. What is left out is told in one line each.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.sandbox import MIB, Collected, Limits
from sandboxes.walk import Entry, walk

MAX_DEPTH = 64
MAX_LINES = 200
"""Lines of `Collected.skipped`; the last one then says how many more there were."""
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def collect(root: Path, limits: Limits) -> Collected:
    """Read every acceptable file under `root`, within the `collect_*` limits. OSError only if `root` is unreadable."""
    basket = _Basket(limits)
    for entry in walk(root, max_depth=MAX_DEPTH):
        basket.take(entry)
    return basket.collected()


@dataclass
class _Basket:
    limits: Limits
    files: dict[str, bytes] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    modes: dict[str, int] = field(default_factory=dict)
    total: int = 0
    more: int = 0

    def take(self, entry: Entry) -> None:
        """Read the entry, or say why not."""
        if entry.info is None:
            return self._skip(entry, entry.problem)
        if stat.S_ISDIR(entry.info.st_mode):
            return None
        problem = self._refusal(entry, entry.info)
        if problem:
            return self._skip(entry, problem)
        data = _read(entry, entry.info)
        if isinstance(data, str):
            return self._skip(entry, data)
        path = "/".join(entry.parts)
        self.files[path] = data
        self.modes[path] = entry.info.st_mode & 0o777
        self.total += len(data)
        return None

    def collected(self) -> Collected:
        if self.more:
            self.skipped.append(f"… and {self.more} more")
        return Collected(dict(sorted(self.files.items())), tuple(self.skipped), self.modes)

    def _refusal(self, entry: Entry, info: os.stat_result) -> str:
        limits = self.limits
        if not stat.S_ISREG(info.st_mode):
            return _KINDS.get(stat.S_IFMT(info.st_mode), "not a regular file")
        if not good_name(entry.parts):
            return "bad name"
        if info.st_size > limits.collect_file_bytes:
            return f"too large ({info.st_size / MIB:.1f} MiB)"
        if len(self.files) >= limits.collect_files:
            return f"too many (over {limits.collect_files} files)"
        if self.total + info.st_size > limits.collect_bytes:
            return f"too much (over {limits.collect_bytes / MIB:.0f} MiB in all)"
        return ""

    def _skip(self, entry: Entry, why: str) -> None:
        if len(self.skipped) < MAX_LINES:
            self.skipped.append(f"{entry.path}: {why}")
        else:
            self.more += 1


def good_name(parts: tuple[str, ...]) -> bool:
    """True for valid UTF-8 without control characters."""
    text = "/".join(parts)
    return not any(unicodedata.category(char) in {"Cc", "Cs"} for char in text)


def _read(entry: Entry, expected: os.stat_result) -> bytes | str:
    """The file's bytes, or one line why they cannot be trusted."""
    try:
        fd = os.open(entry.name, _READ_FLAGS, dir_fd=entry.folder_fd)
    except OSError as error:
        return f"cannot be opened ({error.strerror})"
    with os.fdopen(fd, "rb", buffering=0) as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode) or info.st_ino != expected.st_ino or info.st_size > expected.st_size:
            return "changed while it was read"
        try:
            data = _read_at_most(file.fileno(), expected.st_size + 1)
        except OSError as error:
            return f"cannot be read ({error.strerror})"
    return data if len(data) == expected.st_size else "changed while it was read"


def _read_at_most(fd: int, count: int) -> bytes:
    pieces: list[bytes] = []
    while count > 0:
        piece = os.read(fd, min(count, MIB))
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
