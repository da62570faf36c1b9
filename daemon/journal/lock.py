"""One honed per state directory: a lock file that dies with its process.

Invariant: the kernel holds the lock (`flock`), so a killed process never leaves it; the pid beside it is for people.
A child that it was just starting has the lock's descriptor until it becomes another program, so it may live on for
moments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from daemon.control.holding import daemon_that_holds
from daemon.journal.journal import JournalError
from daemon.private import MisplacedError, private_folder, refuse_misplaced, refuse_misplaced_state

_DYING_S = 10.0
"""How long a dead process's last child is waited for."""


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
        private_folder(folder)
        refuse_misplaced(files=[Path(lock.lock_file)])
        if name == "honed":  # whoever works with all of it
            refuse_misplaced_state(folder)
        _acquire(lock, pid_file)
    except Timeout as error:
        pid = _holder(pid_file)
        raise StateBusyError(folder, pid, daemon_that_holds(folder, pid)) from error
    except MisplacedError as error:
        raise JournalError(f"{error.filename} {error.strerror}") from error
    except OSError as error:
        raise JournalError(f"the state directory {folder}: {error.strerror} (make it writable)") from error
    try:
        _note(pid_file)
        yield
    finally:
        with suppress(OSError):  # the folder may be gone, or another's by now
            if _holder(pid_file) == os.getpid():
                pid_file.unlink()
        lock.release()


def _note(pid_file: Path) -> None:
    """Write our id; through no link, and never as half a line. Raises `JournalError`."""
    made = pid_file.with_suffix(".new")
    try:
        made.unlink(missing_ok=True)
        with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as out:
            out.write(f"{os.getpid()}\n")
        made.replace(pid_file)
    except OSError as error:
        with suppress(OSError):
            made.unlink()
        raise JournalError(f"{pid_file}: {error.strerror} (remove what is there, or make it writable)") from error


def _acquire(lock: FileLock, pid_file: Path) -> None:
    try:
        lock.acquire()
    except Timeout:
        pid = _holder(pid_file)
        if pid is None or _lives(pid):
            raise
        lock.acquire(timeout=_DYING_S)


def _lives(pid: int) -> bool:
    """A process of that id runs; one that has ended and that nobody has asked for yet does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (ProcessLookupError, OverflowError):
        return False
    except (OSError, IndexError):  # somebody else's, or a system without /proc
        return True


def _holder(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
