"""Writing files into a room that hostile code may have prepared.

Folders are entered by descriptor without following links; what stands at a file's place is replaced, never written
through. A path that would leave the room is refused before anything is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from sandboxes.sandbox import SandboxError
from sandboxes.walk import FOLDER_FLAGS, Parts

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Owner:
    """Whose the files become."""

    uid: int
    gid: int


def lay(root: Path, files: Mapping[str, bytes], owner: Owner, modes: Mapping[str, int] = MappingProxyType({})) -> None:
    """Write `files` (relative POSIX paths) under `root`; scripts (`#!`) and ELF programs are made executable.

    A file that `modes` names gets those permission bits instead.
    Raises `SandboxError` naming the path if it leaves the room, meets a link, or cannot be written.
    """
    checked = {path: _parts(path) for path in sorted(files)}
    root_fd = os.open(root, FOLDER_FLAGS)
    try:
        for path, parts in checked.items():
            try:
                _write(root_fd, parts, files[path], owner, modes.get(path))
            except OSError as error:
                message = f"cannot lay {path!a} into {root.name}: {error.strerror or error}"
                raise SandboxError(message) from error
    finally:
        os.close(root_fd)


def _parts(path: str) -> Parts:
    pure = PurePosixPath(path)
    bad = not path or "\0" in path or pure.is_absolute() or ".." in pure.parts or not pure.parts
    if bad or path.endswith("/"):
        message = f"{path!a} is no path inside the room: give a relative one without '..'"
        raise SandboxError(message)
    return pure.parts


def _write(root_fd: int, parts: Parts, data: bytes, owner: Owner, mode: int | None) -> None:
    folder = _enter(root_fd, parts[:-1], owner)
    try:
        name = parts[-1]
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)
        fd = os.open(name, _CREATE, 0o600, dir_fd=folder)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            usual = 0o755 if data.startswith((b"#!", b"\x7fELF")) else 0o644
            os.fchmod(fd, usual if mode is None else mode & 0o777)
            _own(fd, owner)
    finally:
        os.close(folder)


def _enter(root_fd: int, parts: Parts, owner: Owner) -> int:
    """A descriptor of the folder, which is made where it is missing."""
    fd = os.dup(root_fd)
    try:
        for part in parts:
            try:
                os.mkdir(part, 0o755, dir_fd=fd)
                made = True
            except FileExistsError:
                made = False
            deeper = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            os.close(fd)
            fd = deeper
            if made:
                _own(fd, owner)
    except OSError:
        os.close(fd)
        raise
    return fd


def _own(fd: int, owner: Owner) -> None:
    if os.geteuid() == 0:
        os.fchown(fd, owner.uid, owner.gid)
