"""The daemon's own state folder stays its own: somebody may delete it, put another in its place, or move it.

A lock on a file that has no name any more keeps nobody out, and what is written to such a store is lost: a daemon that
lost its folder or its store ends, for the one that is started next. Where the whole project is away (moved, not
mounted) it waits: it may come back as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from daemon.journal.journal import JournalError


@dataclass(frozen=True)
class Grip:
    """Of a folder whose lock file this process holds."""

    lock: Path
    identity: tuple[int, int]
    store: Path | None = None
    """The daemon's own database, once it is open."""
    store_identity: tuple[int, int] | None = None

    @classmethod
    def of(cls, lock: Path) -> Grip:
        """Remember which file it is, while it is held; raises `JournalError` where it is gone already."""
        found = _identity(lock)
        if found is None:
            raise _lost(lock.parent, "deleted")
        return cls(lock, found)

    def with_store(self, store: Path) -> Grip:
        """Likewise of the database that is open now; raises `JournalError` where it is gone already."""
        found = _identity(store)
        if found is None:
            raise _lost(store, "deleted")
        return replace(self, store=store, store_identity=found)

    def away(self) -> str:
        """Why nothing may begin now; empty if all is well. Blocks. Raises `JournalError` where the folder is lost."""
        found = _identity(self.lock)
        if found == self.identity:
            self._hold_store()
            return ""
        state = self.lock.parent
        if found is not None:
            raise _lost(state, "replaced by another")
        if state.parent.is_dir():
            raise _lost(state, "deleted")
        return f"{state.parent} is gone: nothing begins until it is back"

    def _hold_store(self) -> None:
        """The store that is written to has its name still."""
        if self.store is None:
            return
        found = _identity(self.store)
        # Looked at again: the whole folder may have gone between the two.
        if found != self.store_identity and _identity(self.lock) == self.identity:
            raise _lost(self.store, "deleted" if found is None else "replaced by another")


def _lost(what: Path, how: str) -> JournalError:
    return JournalError(f"{what} was {how} while the daemon worked with it: start it again")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
