"""Secrets at rest: state files, and who may read them."""

from __future__ import annotations

import stat

from daemon.journal.sqlite import SqliteJournal
from tests.hostile.attack import Area, Stage, attack, holds
from tests.support.journal import a_run


@attack(
    Area.HANDLING,
    "another user of the host reads the journal, its log and its index",
    expected="mode 0600 on every file of it",
)
async def journal_read_by_others(stage: Stage) -> str:
    journal = SqliteJournal(stage.folder / "journal.db")
    await journal.open_run(a_run())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in stage.folder.iterdir()}
    await journal.close()
    return holds(
        modes and all(not mode & 0o077 for mode in modes.values()),
        ", ".join(f"{name} {mode:04o}" for name, mode in sorted(modes.items())),
    )
