"""What attempts left, on the disk: measured, compressed, removed. Hostile data: no link is followed. Blocking.

Invariant: an attempt's folder is removed only once its archive is whole on the disk, so that a kill at any moment loses
nothing, and doing it again comes to the same.
"""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from daemon.housekeeping.plan import Kept
from daemon.recovery.trees import remove_tree
from sandboxes.disk import MAX_DEPTH
from sandboxes.sandbox import MIB
from sandboxes.walk import Entry, walk

ARCHIVE = ".tar.gz"
_HALF = ".half"
CANARY = "canary-"
_HOLES = 16 * MIB
"""A file that says it is larger than what it takes by more than this would fill the disk, or take for ever."""


def kept_in(attempts: Path, *, clear: bool = True) -> tuple[Kept, ...]:
    """Everything that attempts left; `clear`: halves of archives that a killed process left are removed on the way."""
    found: dict[str, Kept] = {}
    for path in sorted(_entries(attempts)):
        if path.name.endswith(_HALF):
            if clear:
                remove_tree(path)
            continue
        one = _kept(path)
        # Both are there if the process died in between: the folder goes on being the one that counts.
        if one is not None and (one.attempt_id not in found or not one.packed):
            found[one.attempt_id] = one
    return tuple(found.values())


def pack(attempts: Path, attempt_id: str) -> str:
    """Compress an attempt's folder; returns one line why it stays as it is, or nothing."""
    folder, archive = attempts / attempt_id, attempts / f"{attempt_id}{ARCHIVE}"
    half = attempts / f".{attempt_id}{ARCHIVE}{_HALF}"
    try:
        touched = folder.stat().st_mtime
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(half, flags, 0o600), "wb") as raw:
            with tarfile.open(fileobj=raw, mode="w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as tar:
                for entry in walk(folder, max_depth=MAX_DEPTH):
                    _add(tar, entry)
            raw.flush()
            os.fsync(raw.fileno())
        os.utime(half, (touched, touched))
        half.replace(archive)
    except (OSError, tarfile.TarError, ValueError) as error:
        with suppress(OSError):
            half.unlink()
        return f"{folder} cannot be compressed: {getattr(error, 'strerror', None) or error}"
    return remove_tree(folder)


def prune(attempts: Path, attempt_id: str) -> str:
    """Remove what an attempt left; returns one line why something of it stays, or nothing."""
    problems = [remove_tree(attempts / name) for name in (attempt_id, f"{attempt_id}{ARCHIVE}")]
    return next((problem for problem in problems if problem), "")


def _kept(path: Path) -> Kept | None:
    try:
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and path.name.endswith(ARCHIVE):
            return Kept(path.name.removesuffix(ARCHIVE), True, info.st_blocks * 512, info.st_mtime)
        if stat.S_ISDIR(info.st_mode) and not path.name.startswith(CANARY):
            return Kept(path.name, False, _size(path), info.st_mtime)
    except FileNotFoundError:  # it was removed meanwhile
        pass
    return None


def _size(folder: Path) -> int:
    return sum(entry.info.st_blocks * 512 for entry in walk(folder, max_depth=MAX_DEPTH) if entry.info is not None)


def _add(tar: tarfile.TarFile, entry: Entry) -> None:
    """Regular files, folders and links as links; what else there is, cannot be read or is mostly holes is left out."""
    if entry.info is None:
        return
    about = tarfile.TarInfo("/".join(entry.parts))
    about.mtime, about.mode = entry.info.st_mtime, stat.S_IMODE(entry.info.st_mode) & 0o777
    if stat.S_ISDIR(entry.info.st_mode):
        about.type = tarfile.DIRTYPE
        tar.addfile(about)
    elif stat.S_ISLNK(entry.info.st_mode):
        about.type, about.linkname = tarfile.SYMTYPE, os.readlink(entry.name, dir_fd=entry.folder_fd)
        tar.addfile(about)
    elif stat.S_ISREG(entry.info.st_mode) and entry.info.st_size <= entry.info.st_blocks * 512 + _HOLES:
        _add_file(tar, about, entry)


def _add_file(tar: tarfile.TarFile, about: tarfile.TarInfo, entry: Entry) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(entry.name, flags, dir_fd=entry.folder_fd)
    except PermissionError:
        return
    with os.fdopen(handle, "rb") as file:
        about.size = os.fstat(handle).st_size
        tar.addfile(about, file)


def _entries(attempts: Path) -> Iterator[Path]:
    with suppress(FileNotFoundError):
        yield from attempts.iterdir()
