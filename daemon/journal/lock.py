"""One honed per state directory: a lock file that dies with its process.

Invariant: the kernel holds the lock (`flock`), so a killed process never leaves it; the pid beside it is for people.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from daemon.control.holding import daemon_that_holds
from daemon.journal.journal import JournalError


class StateBusyError(JournalError):
    """Another process works in the state directory. `pid` is its id, if it could be read.

    `daemon`: who it is and what lets others in, where it is a daemon.
    """

    def __init__(self, folder: Path, pid: int | None, daemon: str = "") -> None:
        who = "another process (wait for it or stop it)"
        if pid is not None:
            who = daemon or f"process {pid} (wait for it, or `kill {pid}`)"
        super().__init__(f"the state directory {folder} is in use by {who}")
        self.pid = pid


@contextmanager
def state_lock(folder: Path, name: str = "honed") -> Iterator[None]:
    """Hold the state directory (made where it is missing); raises `StateBusyError` at once if somebody has it.

    A daemon holds its main state directory under another `name`, and this one while a run is open.
    """
    lock = FileLock(folder / f"{name}.lock", timeout=0)
    pid_file = folder / f"{name}.pid"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        pid = _holder(pid_file)
        raise StateBusyError(folder, pid, daemon_that_holds(folder, pid)) from error
    except OSError as error:
        raise JournalError(f"the state directory {folder}: {error.strerror} (make it writable)") from error
    try:
        pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
        yield
    finally:
        pid_file.unlink(missing_ok=True)
        lock.release()


def _holder(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
