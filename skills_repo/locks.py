"""A lock that a killed git left on honed's own branch.

Git holds `<branch>.lock` for moments. One that stays was left by a git that was killed, or by a machine that went down;
it would stop every later commit. It is removed only where it is provably nobody's: ten minutes old, and no git that is
as old runs in the repository. Invariants: no other lock is ever looked at (`index.lock`, `HEAD.lock` and the like are
not honed's); of two honed that see the same one, a single one removes it. Should its owner live against all evidence,
it loses nothing: its git finds the lock gone and gives up. Blocking.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from contextlib import suppress
from pathlib import Path

import structlog

from skills_repo.history import RepositoryError
from skills_repo.refs import Refs

STALE_S = 600.0
MOMENTS_S = 5.0
"""A lock of this age is no git at work, at least none that will be done soon."""
log = structlog.get_logger(__name__)


def check(refs: Refs) -> None:
    """Raise `RepositoryError` if a lock keeps the branch from being moved; remove a stale one."""
    lock = _lock_of(refs)
    age = _age(lock)
    if age is not None and age > MOMENTS_S and not clear(refs):
        raise locked(refs)


def clear(refs: Refs) -> bool:
    """Remove the branch's lock if it is nobody's; true if there is none any more."""
    lock = _lock_of(refs)
    try:
        held = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False  # not ours to read: `locked` names it
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # another honed may be at it
        seen = os.fstat(held)
        if time.time() - seen.st_mtime < STALE_S or _is_git_at_work(refs.root, seen.st_mtime):
            return False
        if not os.path.samestat(seen, lock.lstat()):
            return False
        lock.unlink()
    except OSError:
        return False
    finally:
        os.close(held)
    log.warning("removed a stale lock", action="clear_lock", file=str(lock), age_s=int(time.time() - seen.st_mtime))
    return True


def locked(refs: Refs) -> RepositoryError:
    """The error that names the lock and what mends it."""
    lock = _lock_of(refs)
    remedy = f"if no git is at work there, `rm {shlex.quote(str(lock))}`"
    later = f"honed does so itself once it is {STALE_S / 60:.0f} minutes old and no git runs in the repository"
    age = f"{int(_age(lock) or 0)} s old, and git holds one for moments only"
    return RepositoryError(f"branch {refs.short} is locked: {lock} is {age} ({remedy}; {later})")


def exists(refs: Refs) -> bool:
    """There is a lock on the branch."""
    return _age(_lock_of(refs)) is not None


def _lock_of(refs: Refs) -> Path:
    return refs.root / refs.git.line("rev-parse", "--git-path", f"{refs.branch}.lock")


def _age(lock: Path) -> float | None:
    """Seconds since the lock was made; None if there is none."""
    try:
        return max(0.0, time.time() - lock.lstat().st_mtime)
    except OSError:
        return None


def _is_git_at_work(root: Path, since: float) -> bool:
    """A git process that may have made the lock: started before, and working in the repository."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):  # it has ended, or is another user's
            if not (process / "comm").read_text().startswith("git"):
                continue
            ticks = int((process / "stat").read_text().rpartition(")")[2].split()[19])
            up = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
            where = (process / "cwd").readlink()
            if time.time() - up <= since + 1 and where.is_relative_to(root.resolve()):
                return True
    return False
