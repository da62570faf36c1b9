"""The daemon's process as a whole: what it does beside its jobs really goes on."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.control.announcing import announce, read_announcement
from daemon.housekeeping.disk import Disk
from daemon.jobs.sqlite import FILE, SqliteStore
from daemon.jobs.store import Pause
from daemon.journal.journal import JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.service import tending
from daemon.service.notify import Supervisor
from daemon.service.project import Project
from daemon.service.projects import Projects
from daemon.service.service import Service
from sandboxes.sandbox import GIB, MIB
from tests.support.journal import a_key, a_run
from tests.support.projects import chat_project
from tests.support.waiting import until
from tests.unit.service.test_projects import lay

LONG_S = 120.0


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


async def test_a_store_that_cannot_be_written_is_a_trouble_and_ends_no_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, tries = [True], list[str]()
    for name in ("add", "note"):
        monkeypatch.setattr(SqliteStore, name, unwritten(getattr(SqliteStore, name), broken, tries))
    folder = chat_project(tmp_path / "p", "http://127.0.0.1:1/v1")
    store = SqliteStore(folder / ".honed" / FILE)
    await store.pause(Pause("", 1.0, "nothing shall begin here"))
    await store.close()
    service = Service(Projects.load(folder / "honed.toml"), Supervisor.of({}))
    working = asyncio.create_task(service.run())
    try:
        await until(lambda: {":schedule", "greeter"} <= set(tries))
        await service.desk.reload()
        assert not working.done()
        assert service.desk.ready().startswith("job store: ")
        broken[0] = False
        await service.desk.reload()
        assert service.troubles.of("job store") == set()
        assert [job.cause.kind for job in await service.store.jobs()] == ["new"], "what was not noted is seen again"
    finally:
        service.signals.drain.set()
        await working


def unwritten(real: Callable[..., Any], broken: list[bool], tries: list[str]) -> Callable[..., Any]:
    async def write(self: SqliteStore, project: str, *rest: object) -> Any:
        if broken[0] and project != ":names":
            tries.append(project)
            raise JournalError("job store: attempt to write a readonly database")
        return await real(self, project, *rest)

    return write


async def test_a_project_whose_folder_cannot_be_written_keeps_no_other_from_being_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(project: Project, socket: Path, *, boot: str = "") -> None:
        if project.name == "xls":
            raise PermissionError(errno.EACCES, "Permission denied")
        announce(project, socket, boot=boot)

    monkeypatch.setattr("daemon.service.service.announce", refused)
    lay(tmp_path / "xls", "xls")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["xls/honed.toml"]\n'))
    service = Service(projects, Supervisor.of({}))
    working = asyncio.create_task(service.run())
    try:
        await until(lambda: service.troubles.of("signpost") == {"xls"})
        assert read_announcement(tmp_path / ".honed") is not None
    finally:
        service.signals.drain.set()
        await working


async def test_the_troubles_of_a_skill_that_is_not_kept_any_more_go_with_it(tmp_path: Path) -> None:
    lay(tmp_path / "xls", "xls")
    projects = Projects.load(lay(tmp_path, more='[daemon]\nalso = ["xls/honed.toml"]\n'))
    service = Service(projects, Supervisor.of({}))
    working = asyncio.create_task(service.run())
    try:
        await until(lambda: hasattr(service, "watcher") and service.desk.state == "working")
        for project in ("xls", "pdf", ""):
            service.troubles.begin("setup", "does not work", project=project)
        await service.desk.reload()
        assert service.troubles.of("setup") == {"xls", "pdf", ""}
        lay(tmp_path)
        await service.desk.reload()
        assert service.troubles.of("setup") == {"pdf", ""}
        over = [event for event in service.bus.since(0) if event.data.get("over") and event.data["trouble"] == "setup"]
        assert [(event.project, event.what) for event in over] == [("xls", "xls is not kept any more")]
    finally:
        service.signals.drain.set()
        await working
