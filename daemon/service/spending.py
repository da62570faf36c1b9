"""What a project has spent today, read from its journal beside whoever writes it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from daemon.budget.capped import DAY_S
from daemon.budget.totals import Totals, total
from daemon.config import Config
from daemon.journal.journal import JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.places import may_be_there, state_folder
from daemon.wiring import models_of

_SETTLED_S = 2.0
"""A file that was written so lately may be written again with the same times: what was read then is not kept."""


async def spent_today(config: Config, now: float) -> Totals:
    """Since midnight UTC; nothing where there is no journal yet. Raises `JournalError` where it cannot be read."""
    path = _journal(config)
    if not may_be_there(path):
        return Totals()
    journal = SqliteJournal(path, read_only=True)
    try:
        return total(await journal.spent(since=now // DAY_S * DAY_S), models_of(config, config.target))
    finally:
        await journal.close()


@dataclass(frozen=True)
class _Found:
    config: Config
    day: float
    files: tuple[tuple[int, ...], ...]
    spent: Totals


@dataclass
class SpentToday:
    """The same for a status that is asked again and again: a journal that nobody has written to is not opened again."""

    _found: dict[Path, _Found] = field(default_factory=dict)

    async def of(self, config: Config, now: float) -> Totals:
        """As `spent_today`; without a sum of money where the journal cannot be read."""
        path, day = _journal(config), now // DAY_S
        files = _files(path)
        kept = self._found.pop(path, None)
        if kept is None or kept.config is not config or (kept.day, kept.files) != (day, files):
            try:
                kept = _Found(config, day, files, await spent_today(config, now))
            except JournalError:  # whatever needs it says so
                return Totals(usd=None)
        if all(one[0] < (time.time() - _SETTLED_S) * 1e9 for one in files):
            self._found[path] = kept
        return kept.spent


def _journal(config: Config) -> Path:
    return state_folder(config) / "journal.sqlite"


def _files(path: Path) -> tuple[tuple[int, ...], ...]:
    """What changes with each write: of the file and its write-ahead log. Nothing is opened."""
    found = []
    for one in (path, path.with_name(f"{path.name}-wal")):
        try:
            stat = one.stat()
        except OSError:
            continue
        if stat.st_size:  # a reader leaves an empty log
            found.append((stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(found)
