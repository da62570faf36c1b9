"""A workspace that goes on in another box: moved whole, and what is in the way of new files set aside.

Hostile code prepared it, and nothing of that runs any more: no link is followed, nothing is walked or deleted, however
deep or large. Whatever is set aside is moved out of the workspace, where no box shows it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from sandboxes.sandbox import SandboxError
from sandboxes.walk import FOLDER_FLAGS

_OWN = stat.S_IRWXU


def move_workspace(source: Path, target: Path) -> None:
    """Make the workspace `source` that of another box; nothing is done where there is none."""
    try:
        if not source.exists() and not source.is_symlink():
            return
        if source.is_symlink() or not source.is_dir():
            message = f"the workspace {source} is no folder any more: it cannot go on in another box"
            raise SandboxError(message)
        source.chmod(_OWN)  # a folder that is moved must be writable
        source.rename(target)
    except OSError as error:
        message = f"the workspace {source} cannot go on in another box: {error.strerror or error}"
        raise SandboxError(message) from error


def make_way(root: Path, paths: Iterable[str], aside: Path, *, whole: bool = False) -> None:
    """Set aside under `aside` what keeps files from being laid at `paths` below `root`.

    That is whatever stands where a folder must be, and folders where a file must be; `whole`: what stands at the path
    itself goes in any case. Raises OSError.
    """
    with _opened(root, aside) as (root_fd, aside_fd):
        for path in sorted(paths):
            *above, last = PurePosixPath(path).parts
            fd = _enter(root_fd, above, aside_fd)
            if fd is None:
                continue
            try:
                if whole or _is_folder(fd, last):
                    _set_aside(fd, last, aside_fd)
            finally:
                os.close(fd)


def only_folders(root: Path, folders: Iterable[str], aside: Path) -> None:
    """Set aside what is not a folder, as a link is not, anywhere on the way to `folders` and at their place."""
    with _opened(root, aside) as (root_fd, aside_fd):
        for path in sorted(folders):
            fd = _enter(root_fd, PurePosixPath(path).parts, aside_fd)
            if fd is not None:
                os.close(fd)


@contextmanager
def _opened(root: Path, aside: Path) -> Iterator[tuple[int, int]]:
    aside.mkdir(mode=0o700, exist_ok=True)
    root_fd, aside_fd = os.open(root, FOLDER_FLAGS), os.open(aside, FOLDER_FLAGS)
    try:
        yield root_fd, aside_fd
    finally:
        os.close(root_fd)
        os.close(aside_fd)


def _enter(root_fd: int, parts: Iterable[str], aside_fd: int) -> int | None:
    """A descriptor of the folder; None where it is not there, or is no longer."""
    fd = os.dup(root_fd)
    for part in parts:
        deeper = None
        try:
            if _is_folder(fd, part):
                deeper = os.open(part, FOLDER_FLAGS, dir_fd=fd)
            else:
                _set_aside(fd, part, aside_fd)
        finally:
            os.close(fd)
        if deeper is None:
            return None
        fd = deeper
    return fd


def _is_folder(fd: int, name: str) -> bool:
    """Whether it is a folder, which is then made ours to enter, to change and to move."""
    try:
        info = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(info.st_mode):
        return False
    if info.st_mode & _OWN != _OWN:
        os.chmod(name, stat.S_IMODE(info.st_mode) | _OWN, dir_fd=fd)
    return True


def _set_aside(fd: int, name: str, aside_fd: int) -> None:
    _is_folder(fd, name)
    with suppress(FileNotFoundError):
        os.rename(name, str(len(os.listdir(aside_fd))), src_dir_fd=fd, dst_dir_fd=aside_fd)
