"""What a dead daemon left is brought to agree when the next one starts, whether a job may begin then or not."""

from __future__ import annotations

from asyncio import Lock
from collections import defaultdict
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from daemon.journal.lock import state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.service import recovering
from daemon.service.projects import Projects
from daemon.service.recovering import Recovering
from daemon.telling.events import Bus
from sandboxes.choose import Choice
from sandboxes.fake import FakeAnswer, FakeSandbox
from sandboxes.left import LeftBox
from sandboxes.sandbox import SandboxError
from tests.support.closed import close
from tests.support.journal import a_key, a_run
from tests.unit.service.test_projects import lay


class Left:
    """A project whose daemon died in the middle of an attempt."""

    def __init__(self, folder: Path) -> None:
        [self.project] = Projects.load(lay(folder)).all()
        self.bus = Bus()
        self.alone: defaultdict[str, Lock] = defaultdict(Lock)
        self.recovering = Recovering(self.bus, self.alone)
        self.sandbox = FakeSandbox(lambda *_: FakeAnswer())
        self.silent = ""
        self.asked = 0
        """How often for an engine."""
        self.sandbox.left = [LeftBox("box", "a-1", ours=True, running=True)]

    async def begun(self) -> None:
        journal = SqliteJournal(self.project.state / "journal.sqlite")
        await journal.open_run(a_run())
        await journal.plan_attempt("a-1", a_run().run_id, "t-1", a_key())
        await journal.close()

    async def unfinished(self) -> tuple[str, ...]:
        journal = SqliteJournal(self.project.state / "journal.sqlite")
        try:
            return await journal.unfinished_attempts()
        finally:
            await journal.close()

    def told(self) -> list[str]:
        return [event.what.removeprefix("after a crash: ") for event in self.bus.since(0) if event.kind == "house"]

    async def start(self) -> None:
        await self.recovering.all((self.project,))


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Left:
    found = Left(tmp_path)

    async def engine_of(_: object) -> Choice:
        found.asked += 1
        if found.silent:
            raise SandboxError(found.silent)
        return Choice(found.sandbox, ())

    monkeypatch.setattr(recovering, "engine_of", engine_of)
    return found


async def test_boxes_and_rows_are_brought_together_at_the_start(left: Left) -> None:
    await left.begun()
    await left.start()
    assert left.sandbox.removed == ["box"]
    assert await left.unfinished() == ()
    assert left.told() == ["attempts are made anew: 1, boxes and folders removed: 1"]
    await left.start()
    assert len(left.told()) == 1, "nothing is left to tell of"


async def test_a_project_that_never_ran_has_nothing_to_look_at(left: Left) -> None:
    await left.start()
    assert left.sandbox.removed == []
    assert not left.project.state.exists()


async def test_no_engine_is_loaded_where_no_box_can_be_left(left: Left) -> None:
    await left.begun()
    await left.start()
    assert left.asked == 1
    await left.start()
    assert left.asked == 1, "every attempt has come to its end"
    (left.project.state / "attempts" / "canary-1").mkdir(parents=True)
    left.sandbox.left = [LeftBox("box", "canary-1", ours=True, running=True)]
    await left.start()
    assert left.asked == 2
    assert left.sandbox.removed == ["box", "box"]
    assert not (left.project.state / "attempts" / "canary-1").exists()


async def test_where_a_run_is_at_work_nothing_is_touched(left: Left) -> None:
    await left.begun()
    async with left.alone[left.project.name]:
        await left.start()
    with state_lock(left.project.state), capture_logs() as logs:
        await left.start()
    assert [row["event"] for row in logs] == ["not_recovered"]
    assert left.sandbox.removed == []
    assert await left.unfinished() == ("a-1",)


async def test_an_engine_that_does_not_answer_keeps_no_daemon_from_starting(left: Left) -> None:
    await left.begun()
    left.silent = "the engine is restarting"
    with capture_logs() as logs:
        await left.start()
    assert "engine_not_seen" in [row["event"] for row in logs]
    assert await left.unfinished() == ()
    assert left.told() == ["attempts are made anew: 1"]


async def test_a_fault_of_ours_in_one_project_stops_no_other(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    await left.begun()

    async def broken(*_: object, **__: object) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(recovering, "recover", broken)
    with capture_logs() as logs:
        await left.recovering.all((left.project, left.project))
    assert [row["event"] for row in logs] == ["not_recovered"] * 2


async def test_a_state_folder_that_nobody_may_look_into_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Left(tmp_path)
    await left.begun()
    close(left.project.state, monkeypatch)
    with capture_logs() as logs:
        await left.start()
    assert [(row["event"], row["log_level"]) for row in logs] == [("not_recovered", "warning")]
