"""Keeping a SQLite file as small as what it holds: its write-ahead log folded in, its free pages given back.

Invariants: nothing is done that does not pay; a file is only written anew where the disk has room for it twice; other
processes may read meanwhile, and one that is busy only puts it off.
"""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

_LOG_BYTES = 1024 * 1024
"""A write-ahead log of this size is folded in."""
_FREE_BYTES, _FREE_SHARE = 8 * 1024 * 1024, 0.25
"""So much free room, and so large a share of the file, pays for writing it anew."""
_PATIENCE_MS = 250


def tidy(db: sqlite3.Connection, path: Path) -> int:
    """Fold in and give back; returns the bytes that the disk has won. Blocking; `db` is in no transaction."""
    before = size_of(path)
    patience = db.execute("PRAGMA busy_timeout").fetchone()[0]
    db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
    try:
        if _pays(db, path):
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif _log(path) > _LOG_BYTES:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA optimize")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience}")
    return max(0, before - size_of(path))


def size_of(path: Path) -> int:
    """Bytes of the file and its write-ahead log."""
    return _bytes(path) + _log(path)


def _pays(db: sqlite3.Connection, path: Path) -> bool:
    page, pages, free = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_size", "page_count", "freelist_count")
    )
    worth = free * page >= _FREE_BYTES and free >= _FREE_SHARE * pages
    # The file is copied, and the copy goes through the log.
    return worth and shutil.disk_usage(path.parent).free > 2 * page * pages


def _log(path: Path) -> int:
    return _bytes(path.with_name(f"{path.name}-wal"))


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
