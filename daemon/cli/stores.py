"""What the stores say while no daemon runs: read alone, nothing is made or changed.

Jobs and pauses stand in the state folder of the daemon that kept the project, which may be another project's.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.cli.asking import state_of

if TYPE_CHECKING:
    from daemon.jobs.job import Job
    from daemon.jobs.store import Pause
    from daemon.journal.records import RunRecord


async def stored_jobs(config: Path, limit: int) -> tuple[Job, ...]:
    """The newest jobs of the daemon that kept this honed.toml last; raises `JournalError`."""
    return (await _stored(config, limit))[0]


async def stored_pauses(config: Path) -> tuple[Pause, ...]:
    """What is paused there."""
    return (await _stored(config, 0))[1]


async def _stored(config: Path, limit: int) -> tuple[tuple[Job, ...], tuple[Pause, ...]]:
    from daemon.jobs.sqlite import SqliteStore  # noqa: PLC0415 - only where no daemon answers

    path = await asyncio.to_thread(_store, state_of(config))
    if path is None:
        return (), ()
    store = SqliteStore(path, read_only=True)
    try:
        return await store.jobs(newest=limit), await store.pauses()
    finally:
        await store.close()


def _store(state: Path) -> Path | None:
    """The job store: where the signpost leads, for a project that a daemon kept by `[daemon] also`; else its own."""
    from daemon.control.address import SOCKET_NAME  # noqa: PLC0415
    from daemon.control.announcing import read_announcement  # noqa: PLC0415
    from daemon.jobs.sqlite import FILE  # noqa: PLC0415

    told = read_announcement(state)
    places = [state / FILE]
    if told is not None and Path(told.socket).name == SOCKET_NAME:
        places.insert(0, Path(told.socket).with_name(FILE))
    return next((path for path in places if os.access(path, os.R_OK)), None)


async def newest_run(config: Path) -> tuple[RunRecord, int] | None:
    """The newest training in the journal, and how many of its steps are decided; None without one."""
    from daemon.journal.sqlite import SqliteJournal  # noqa: PLC0415
    from daemon.optimizer.scoring_run import trains  # noqa: PLC0415

    path = state_of(config) / "journal.sqlite"
    if not await asyncio.to_thread(path.exists):
        return None
    journal = SqliteJournal(path, read_only=True)
    try:
        runs = [run for run in await journal.find_runs() if trains(run)]
        if not runs:
            return None
        decisions = await journal.decisions(runs[-1].run_id)
        return runs[-1], sum(one.kind == "step" for one in decisions)
    finally:
        await journal.close()
