"""One honed per state directory: a lock file that dies with its process.

Invariant: the kernel holds the lock (`flock`), so a killed process never leaves it; the pid beside it is for people.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from daemon.journal.journal import JournalError


class StateBusyError(JournalError):
    """Another process works in the state directory. `pid` is its id, if it could be read."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        remedy = "wait for it or stop it" if pid is None else f"wait for it, or `kill {pid}`"
        super().__init__(f"the state directory {folder} is in use by {who} ({remedy})")
        self.pid = pid


class StateLock:
    """A context manager that holds the state directory; makes the folder where it is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pid_file = folder / "honed.pid"
        self._lock = FileLock(folder / "honed.lock", timeout=0)

    def __enter__(self) -> Self:
        """Take the lock; raises `StateBusyError` at once if somebody has it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._pid_file.write_text(f"{os.getpid()}\n", encoding="ascii")
        except Timeout as error:
            raise StateBusyError(self.folder, self._holder()) from error
        except OSError as error:
            raise JournalError(f"the state directory {self.folder}: {error.strerror} (make it writable)") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the lock back."""
        self._pid_file.unlink(missing_ok=True)
        self._lock.release()

    def _holder(self) -> int | None:
        try:
            return int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
