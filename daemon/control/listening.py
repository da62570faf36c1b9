"""The control socket's file: made whole before it has its name, for its own user alone, never over a live one.

Invariant: under `control.sock` there is nothing, a dead socket, or one that answers already: it is bound and listening
under another name first, and renamed.
"""

from __future__ import annotations

import secrets
import shutil
import socket
import stat
from pathlib import Path

from daemon.control.address import SOCKET_NAME, listening, short
from daemon.control.errors import ControlError

BACKLOG = 64


def open_socket(state: Path) -> tuple[socket.socket, Path]:
    """A listening socket at `state/control.sock`, mode 0600 in a folder of mode 0700.

    Blocks. Raises `ControlError` where another process listens there, what is there is no socket, or the system
    refuses.
    """
    path = state.absolute() / SOCKET_NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.parent.chmod(0o700)
        _refuse(path)
        return _bind(path), path
    except OSError as error:
        what = error.strerror or str(error)
        raise ControlError(f"cannot open the control socket {path}: {what} (make its folder writable)") from error


def _refuse(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no socket"
        raise ControlError(f"{path} is {what}: remove it, honed makes its own")
    if listening(path):
        raise ControlError(f"another daemon answers on {path}: stop it first (`honed status` names it)")


def _bind(path: Path) -> socket.socket:
    folder = path.parent / f".control-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short(folder / SOCKET_NAME) as name:
            made.bind(name)
        (folder / SOCKET_NAME).chmod(0o600)
        made.listen(BACKLOG)
        made.setblocking(False)
        (folder / SOCKET_NAME).rename(path)
    except BaseException:
        made.close()
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return made


def identity(path: Path) -> tuple[int, int] | None:
    """What tells this file from one that came later under its name."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove(path: Path, mine: tuple[int, int] | None) -> None:
    """Take the socket away, if it is still the one that was opened."""
    if mine is not None and identity(path) == mine:
        path.unlink()
