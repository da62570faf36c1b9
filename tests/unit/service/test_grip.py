"""A daemon works only in the state folder that it has locked: one that it lost ends it, one that is away is awaited."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from daemon.journal.journal import JournalError
from daemon.journal.lock import state_lock
from daemon.service import service as module
from daemon.service.grip import Grip
from daemon.service.notify import Supervisor
from daemon.service.projects import Projects
from daemon.service.service import Service
from tests.support.waiting import until
from tests.unit.service.test_projects import lay


def locked(folder: Path) -> Grip:
    (folder / ".honed").mkdir(parents=True)
    (folder / ".honed" / "daemon.lock").touch()
    return Grip.of(folder / ".honed" / "daemon.lock")


def test_a_project_that_is_away_may_come_back(tmp_path: Path) -> None:
    grip = locked(tmp_path / "p")
    assert grip.away() == ""
    (tmp_path / "p").rename(tmp_path / "elsewhere")
    assert grip.away() == f"{tmp_path / 'p'} is gone: nothing begins until it is back"
    (tmp_path / "p").write_text("a file in its place")
    assert "is gone" in grip.away()
    (tmp_path / "p").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "p")
    assert grip.away() == ""


def test_a_state_folder_that_was_deleted_or_replaced_is_lost(tmp_path: Path) -> None:
    grip = locked(tmp_path / "p")
    (tmp_path / "p" / ".honed").rename(tmp_path / "kept")
    with pytest.raises(JournalError, match=r"\.honed was deleted while the daemon worked with it: start it again"):
        grip.away()
    with pytest.raises(JournalError, match="was deleted"):
        Grip.of(grip.lock)
    (tmp_path / "p" / ".honed").mkdir()
    (tmp_path / "p" / ".honed" / "daemon.lock").touch()
    with pytest.raises(JournalError, match=r"\.honed was replaced by another"):
        grip.away()


def test_a_store_that_was_deleted_or_replaced_is_lost(tmp_path: Path) -> None:
    grip, store = locked(tmp_path / "p"), tmp_path / "p" / ".honed" / "daemon.sqlite"
    with pytest.raises(JournalError, match=r"daemon\.sqlite was deleted"):
        grip.with_store(store)
    store.write_text("rows")
    grip = grip.with_store(store)
    assert grip.away() == ""
    (tmp_path / "p").rename(tmp_path / "elsewhere")
    assert grip.away() == f"{tmp_path / 'p'} is gone: nothing begins until it is back"
    (tmp_path / "elsewhere").rename(tmp_path / "p")
    store.rename(tmp_path / "kept")
    with pytest.raises(
        JournalError, match=r"daemon\.sqlite was deleted while the daemon worked with it: start it again"
    ):
        grip.away()
    store.write_text("rows")
    with pytest.raises(JournalError, match=r"daemon\.sqlite was replaced by another"):
        grip.away()


async def test_a_daemon_whose_store_is_deleted_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRIP_S", 0.01)
    service = Service(Projects.load(lay(tmp_path)), Supervisor.of({}))
    working = asyncio.create_task(service.run())
    await until(lambda: hasattr(service, "watcher") and service.desk.state == "working")
    (tmp_path / ".honed" / "daemon.sqlite").unlink()
    with pytest.raises(ExceptionGroup) as raised:
        await working
    assert "daemon.sqlite was deleted" in str(raised.value.exceptions[0])


async def test_a_daemon_waits_for_its_project_and_ends_without_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GRIP_S", 0.01)
    folder, elsewhere = tmp_path / "p", tmp_path / "elsewhere"
    service = Service(Projects.load(lay(folder)), Supervisor.of({}))
    working = asyncio.create_task(service.run())
    await until(lambda: hasattr(service, "watcher") and service.desk.state == "working")
    folder.rename(elsewhere)
    await until(lambda: service.troubles.of("state folder") == {""})
    assert service.worker.blocked() == f"{folder} is gone: nothing begins until it is back"
    assert not folder.exists(), "nobody makes it anew"
    elsewhere.rename(folder)
    await until(lambda: not service.troubles.of("state folder"))
    assert service.worker.blocked() == ""
    shutil.rmtree(folder / ".honed")
    with pytest.raises(ExceptionGroup) as raised:
        await working
    assert "start it again" in str(raised.value.exceptions[0])


async def test_it_hears_signals_from_its_first_moment_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = []

    @contextmanager
    def watched(folder: Path, name: str) -> Iterator[None]:
        ours = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
        heard.append(signal.SIG_DFL not in ours)
        with state_lock(folder, name):
            yield
        ours = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
        heard.append(signal.SIG_DFL not in ours)

    monkeypatch.setattr(module, "state_lock", watched)
    service = Service(Projects.load(lay(tmp_path)), Supervisor.of({}))
    service.signals.end()
    await service.run()
    assert heard == [True, True]
