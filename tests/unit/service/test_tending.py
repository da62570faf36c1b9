"""What the daemon does beside its jobs: the disk's level in the status, and a house that is kept whatever runs."""

from __future__ import annotations

import os
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.config import Config
from daemon.housekeeping.disk import Disk
from daemon.inbox.opening import read_use
from daemon.inbox.use import Use
from daemon.jobs.job import Cause
from daemon.jobs.memory import MemoryStore
from daemon.journal.lock import StateBusyError, state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.service import tending
from daemon.service.looker import Looker
from daemon.service.projects import Projects
from daemon.service.tending import Tending
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus
from sandboxes.sandbox import GIB, MIB
from tests.support.closed import close
from tests.support.journal import a_run
from tests.support.sessions import troubled
from tests.unit.service.test_projects import lay

DAY = 86_400.0


class Tended:
    """One project, with whoever is told."""

    def __init__(self, folder: Path) -> None:
        self.projects = Projects.load(lay(folder))
        [self.project] = self.projects.all()
        self.state = self.project.state
        self.woken = 0
        store, bus = MemoryStore(), Bus()
        self.troubles = Troubles(bus)
        self.tending = Tending(self.projects, store, Looker(store, bus, self.troubles), bus, self.troubles, self.wake)

    def wake(self) -> None:
        self.woken += 1

    def told(self) -> list[str]:
        return [one.name for one in self.troubles.all()]

    async def a_run(self) -> Path:
        """A journal, and an attempt's folder that is two days old."""
        journal = SqliteJournal(self.state / "journal.sqlite")
        await journal.open_run(a_run())
        await journal.close()
        folder = self.state / "attempts" / "a-1"
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - 2 * DAY, time.time() - 2 * DAY))
        return folder


@pytest.fixture
def tended(tmp_path: Path) -> Tended:
    return Tended(tmp_path)


async def one_round(work: Coroutine[Any, Any, None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it sleeps."""

    class Slept(Exception):  # noqa: N818 - an end of the test's own
        pass

    async def sleep(_: float) -> None:
        raise Slept

    with monkeypatch.context() as asleep:
        asleep.setattr("daemon.service.tending.asyncio.sleep", sleep)
        with pytest.raises(Slept):
            await work


async def test_the_disk_s_level_is_in_the_status_and_a_full_one_stops_what_would_begin(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [
        (50 * GIB, [], ""),
        (2 * GIB, ["disk low"], ""),
        (MIB, ["disk"], "nothing begins until there is more"),
        (2 * GIB, ["disk low"], ""),
        (50 * GIB, [], ""),
    ]
    for free, told, full in rounds:
        monkeypatch.setattr(tending, "look_at_disk", lambda _, free=free: Disk(free, 100 * GIB))
        await one_round(tended.tending.disk(), monkeypatch)
        assert tended.told() == told
        assert full in tended.tending.full
        assert bool(tended.tending.full) == bool(full)
    assert tended.woken == 2, "once it is full, and once it is not any more"


async def test_the_house_is_kept_also_while_a_run_holds_the_state_folder(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = await tended.a_run()
    with state_lock(tended.state):
        await one_round(tended.tending.house(), monkeypatch)
        with pytest.raises(StateBusyError), state_lock(tended.state):
            pytest.fail("the lock was taken from the run")
    assert not folder.exists()
    assert tended.told() == []


async def test_a_state_folder_that_cannot_be_written_is_told_and_stops_nothing(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that turned read-only; once it can be written again nobody has to do anything."""
    folder = await tended.a_run()
    lock = tended.state / "honed.lock"
    lock.mkdir()
    await one_round(tended.tending.house(), monkeypatch)
    [trouble] = tended.troubles.all()
    assert trouble.name == "house"
    assert str(tended.state) in trouble.what
    assert "move it away" in trouble.what
    assert folder.exists()
    lock.rmdir()
    await one_round(tended.tending.house(), monkeypatch)
    assert tended.told() == []
    assert not folder.exists()


async def test_the_oldest_jobs_are_forgotten_with_the_tidying(tended: Tended, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.service.tending._JOBS", 1)
    for number in range(3):
        job = await tended.tending.store.add("pdf", Cause("skill", str(number)), 1.0)
        assert job is not None
        await tended.tending.store.save(replace(job, state="done", ended=2.0))
    await one_round(tended.tending.house(), monkeypatch)
    assert [job.number for job in await tended.tending.store.jobs()] == [3]


async def test_a_journal_that_is_none_is_told(tended: Tended, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = await tended.a_run()
    (tended.state / "journal.sqlite").write_bytes(b"something else altogether" * 99)
    await one_round(tended.tending.house(), monkeypatch)
    assert tended.told() == ["house"]
    assert folder.exists()


async def test_people_s_use_is_read_again_only_where_sessions_came(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    async def use(config: Config) -> Use:
        read.append(config.skill.path)
        return await read_use(config)

    monkeypatch.setattr(tending, "read_use", use)
    troubled(1).write(tended.state / "inbox" / "a.jsonl")
    for wanted in (1, 1, 1):
        await one_round(tended.tending.inbox(), monkeypatch)
        assert len(read) == wanted
    troubled(2).write(tended.state / "inbox" / "b.jsonl")
    await one_round(tended.tending.inbox(), monkeypatch)
    assert (len(read), tended.told()) == (2, [])
    monkeypatch.setattr(tending, "_HOUSE_S", 0.0)
    await one_round(tended.tending.inbox(), monkeypatch)
    assert len(read) == 3, "old ones may be forgotten"


async def test_a_state_folder_that_nobody_may_look_into_is_told(
    tended: Tended, monkeypatch: pytest.MonkeyPatch
) -> None:
    await tended.a_run()
    with monkeypatch.context() as closed:
        close(tended.state, closed)
        await one_round(tended.tending.house(), monkeypatch)
    assert tended.told() == ["house"]
    await one_round(tended.tending.house(), monkeypatch)
    assert tended.told() == []
