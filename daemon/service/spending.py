"""What a project has spent today, read from its journal beside whoever writes it."""

from __future__ import annotations

from daemon.budget.capped import DAY_S
from daemon.budget.totals import Totals, total
from daemon.config import Config
from daemon.journal.sqlite import SqliteJournal
from daemon.places import state_folder
from daemon.wiring import models_of


async def spent_today(config: Config, now: float) -> Totals:
    """Since midnight UTC; nothing where there is no journal yet. Raises `JournalError` where it cannot be read."""
    path = state_folder(config) / "journal.sqlite"
    if not path.exists():
        return Totals()
    journal = SqliteJournal(path, read_only=True)
    try:
        return total(await journal.spent(since=now // DAY_S * DAY_S), models_of(config, config.target))
    finally:
        await journal.close()
