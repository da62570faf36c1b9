"""The daemon's process as a whole: what it does beside its jobs really goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.housekeeping.disk import Disk
from daemon.journal.sqlite import SqliteJournal
from daemon.service import tending
from daemon.service.notify import Supervisor
from daemon.service.projects import Projects
from daemon.service.service import Service
from sandboxes.sandbox import GIB, MIB
from tests.support.journal import a_key, a_run
from tests.unit.service.test_projects import lay

LONG_S = 60.0


async def test_disk_house_and_inbox_are_tended_and_what_a_dead_daemon_left_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tending, "look_at_disk", lambda _: Disk(MIB, 100 * GIB))
    state = tmp_path / ".honed"
    journal = SqliteJournal(state / "journal.sqlite")
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", a_run().run_id, "t-1", a_key())
    (state / "scratch" / "honed-verify-x").mkdir(parents=True)
    service = Service(Projects.load(lay(tmp_path)), Supervisor.of({}))
    working = asyncio.create_task(service.run())
    try:
        async with asyncio.timeout(LONG_S):
            while await journal.unfinished_attempts() or not {"disk"} <= {one.name for one in service.troubles.all()}:
                await asyncio.sleep(0.01)
            while (state / "scratch" / "honed-verify-x").exists() or "pdf" not in service.tending.uses:
                await asyncio.sleep(0.01)
    finally:
        service.signals.drain.set()
        await working
        await journal.close()
    assert service.tending.full
    assert service.worker.blocked() == service.tending.full
    assert service.worker.uses is service.tending.uses
