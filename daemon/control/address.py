"""Where a daemon listens, and how a socket with a long path is reached.

The kernel takes at most 107 bytes of path. A longer one is reached through an open descriptor of its folder
(`/proc/self/fd/N/control.sock`), so the socket always lies in the state folder, where no other folder's clearing up
takes it away and no private /tmp hides it.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET_NAME = "control.sock"
PATH_BYTES = 107
"""What fits into `sun_path` with its closing zero."""


@contextmanager
def short(path: Path) -> Iterator[str]:
    """A name of the same file that the kernel takes, for as long as the context lasts. Raises `OSError`."""
    if len(os.fsencode(path)) <= PATH_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def connect(path: Path, timeout_s: float) -> socket.socket:
    """A connection to whoever listens there; raises `OSError` (refused or missing: nobody does)."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(timeout_s)
        with short(path) as name:
            made.connect(name)
    except BaseException:
        made.close()
        raise
    return made


def listening(path: Path) -> bool:
    """Somebody listens there, or it cannot be told."""
    try:
        connect(path, 1.0).close()
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:
        return True
    return True


def owner_of(peer: socket.socket) -> int:
    """User id of the process at the other end."""
    packed = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", packed)[1])
