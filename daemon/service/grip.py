"""The daemon's own state folder stays its own: somebody may delete it, put another in its place, or move it.

A lock on a file that has no name any more keeps nobody out, so a daemon that lost its folder ends, for the one that is
started next. Where the whole project is away (moved, not mounted) it waits: it may come back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from daemon.journal.journal import JournalError


@dataclass(frozen=True)
class Grip:
    """Of a folder whose lock file this process holds."""

    lock: Path
    identity: tuple[int, int]

    @classmethod
    def of(cls, lock: Path) -> Grip:
        """Remember which file it is, while it is held; raises `JournalError` where it is gone already."""
        found = _identity(lock)
        if found is None:
            raise _lost(lock.parent, "deleted")
        return cls(lock, found)

    def away(self) -> str:
        """Why nothing may begin now; empty if all is well. Blocks. Raises `JournalError` where the folder is lost."""
        found = _identity(self.lock)
        if found == self.identity:
            return ""
        state = self.lock.parent
        if found is not None:
            raise _lost(state, "replaced by another")
        if state.parent.is_dir():
            raise _lost(state, "deleted")
        return f"{state.parent} is gone: nothing begins until it is back"


def _lost(state: Path, how: str) -> JournalError:
    return JournalError(f"the state directory {state} was {how} while the daemon worked with it: start it again")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
