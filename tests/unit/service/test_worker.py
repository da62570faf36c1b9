"""The daemon's loop over a fake runner and a fake store: what begins, what waits, what survives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from daemon.config import load_config
from daemon.jobs.job import ENDED, Cause, Job
from daemon.jobs.memory import MemoryStore
from daemon.jobs.store import Pause
from daemon.journal.journal import JournalError
from daemon.service.board import Board
from daemon.service.circuits import Circuits
from daemon.service.ends import JobEnd
from daemon.service.front import FrontDesk
from daemon.service.leash import Leash
from daemon.service.project import Project
from daemon.service.projects import Projects
from daemon.service.told_store import ToldStore
from daemon.service.troubles import Troubles
from daemon.service.worker import Worker
from daemon.telling.events import Bus
from harnesses.outcome import Outcome
from tests.support.waiting import PATIENCE_S, until
from tests.unit.service.test_projects import lay

DONE = JobEnd("done", "all steps done", run_id="r-1", accepted=0, score=0.5, tasks=24)


@dataclass
class FakeRunner:
    """Ends each run as told; keeps what was begun. A run that `hold` names lasts until its leash is pulled."""

    ends: list[JobEnd] = field(default_factory=list)
    hold: bool = False
    began: list[tuple[str, int]] = field(default_factory=list)
    engine: str = ""
    together: int = 0
    most: int = 0

    async def run(self, project: Project, job: Job, leash: Leash) -> JobEnd:
        self.began.append((project.name, job.number))
        self.together += 1
        self.most = max(self.most, self.together)
        try:
            await asyncio.sleep(0)
            while self.hold and not leash.pulled:
                await asyncio.sleep(0.001)
            if leash.pulled:
                return JobEnd("cancelled" if leash.pulled == "cancel" else "queued", leash.reason)
            return self.ends.pop(0) if self.ends else replace(DONE, run_id=f"r-{job.number}")
        except asyncio.CancelledError:
            return JobEnd("cancelled" if leash.pulled == "cancel" else "queued", leash.reason)
        finally:
            self.together -= 1


class FullStore(MemoryStore):
    """Cannot be written for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.full = 0
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.only = ""
        """Only jobs of this state cannot be saved; empty: none can."""
        self.meanwhile: Callable[[], Any] | None = None
        """Called once while a job is being begun, before its row says so."""

    async def save(self, job: Job) -> None:
        if job.state in ENDED:
            await self.may_end.wait()
        if self.full and self.only in ("", job.state):
            self.full -= 1
            raise JournalError("job store: the disk is full")
        await super().save(job)

    async def pauses(self) -> tuple[Pause, ...]:
        found = await super().pauses()
        if self.meanwhile is not None and (act := self.meanwhile()) is not None:
            self.meanwhile = None
            await act
        return found


@dataclass
class House:
    """A worker and all that it needs, in a folder."""

    folder: Path
    more: str = ""
    also: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.also:
            lay(self.folder / name, name)
        listed = ", ".join(f'"{name}/honed.toml"' for name in self.also)
        self.projects = Projects.load(lay(self.folder, more=f"[daemon]\nalso = [{listed}]\n{self.more}"))
        self.store, self.runner, self.bus = FullStore(), FakeRunner(), Bus()
        self.looked: list[str] = []
        self.blind: list[Exception] = []
        self.troubles = Troubles(self.bus)
        told = ToldStore(self.store, self.troubles)
        self.worker = Worker(
            self.projects,
            told,
            self.runner,  # type: ignore[arg-type]
            Board(),
            self.bus,
            Circuits(),
            self.troubles,
            self._look,
        )
        self.desk = FrontDesk(self.worker, told, self.bus, self.troubles, self._reread)

    async def _look(self, project: Project) -> None:
        self.looked.append(project.name)
        if self.blind:
            raise self.blind.pop()

    async def _reread(self) -> None:
        self.looked.append("configuration")

    async def queue(self, kind: Any = "skill", project: str = "pdf", key: str = "1") -> Job:
        job = await self.store.add(project, Cause(kind, key), self.worker.clock())
        assert job is not None
        self.worker.wake()
        return job

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.worker.work())
        try:
            yield
        finally:
            self.worker.draining = "the test ends"
            self.worker.pull("drain", "the test ends")
            self.worker.wake()
            await asyncio.wait_for(task, PATIENCE_S)

    async def until(self, holds: Callable[[], bool]) -> None:
        await until(holds, every_s=0.001)

    async def states(self) -> list[str]:
        return [job.state for job in await self.store.jobs()]

    async def settled(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.worker.running or await self.store.jobs(open_only=True):
                await asyncio.sleep(0.001)


async def test_a_job_runs_to_its_end_and_its_project_is_looked_at_again(tmp_path: Path) -> None:
    house = House(tmp_path)
    async with house.working():
        await house.queue()
        await house.settled()
    (job,) = await house.store.jobs()
    assert (job.state, job.run_id, job.accepted, job.score, job.tries) == ("done", "r-1", 0, 0.5, 1)
    assert job.chosen == "a person changed the skill: an act of a person comes first (value 0.250)"
    assert (await house.desk.explain(1)).why == "all steps done"
    assert job.started is not None
    assert job.ended is not None
    assert house.looked == ["pdf"]
    assert [event.data["state"] for event in house.bus.since(0) if event.kind == "job"] == ["running", "done"]


async def test_causes_that_wait_together_are_one_run(tmp_path: Path) -> None:
    house = House(tmp_path)
    for number, kind in enumerate(("tasks", "config", "skill")):
        await house.queue(kind, key=str(number))
    async with house.working():
        await house.settled()
    assert house.runner.began == [("pdf", 1)]
    assert await house.states() == ["done", "joined", "joined"]


async def test_what_happens_during_a_run_is_another_run(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.runner.hold = True
    async with house.working():
        await house.queue("tasks")
        await house.until(lambda: bool(house.worker.running))
        await house.queue("skill", key="2")
        house.runner.hold = False
        await house.settled()
    assert house.runner.began == [("pdf", 1), ("pdf", 2)]


async def test_a_run_that_accepted_something_is_followed_by_another(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.runner.ends = [replace(DONE, accepted=2), replace(DONE, run_id="r-2", accepted=1)]
    async with house.working():
        await house.queue()
        await house.settled()
    jobs = await house.store.jobs()
    assert [(job.cause.kind, job.accepted) for job in jobs] == [("skill", 2), ("more", 1), ("more", 0)]


async def test_again_can_be_switched_off(tmp_path: Path) -> None:
    house = House(tmp_path, more="again = false\n")
    house.runner.ends = [replace(DONE, accepted=2)]
    async with house.working():
        await house.queue()
        await house.settled()
    assert house.runner.began == [("pdf", 1)]


async def test_a_failure_that_passes_is_tried_again_and_told_until_it_is_over(tmp_path: Path) -> None:
    house = House(tmp_path)
    again = JobEnd("queued", "docker: gone", house.worker.clock() + 3_600.0, "engine")
    house.runner.ends = [again, replace(again, not_before=0.0)]
    async with house.working():
        await house.queue()
        await house.until(lambda: bool(house.troubles.all()))
        assert [(one.name, one.project, one.what) for one in house.troubles.all()] == [
            ("engine", "pdf", "docker: gone")
        ]
        house.desk.state = "working"
        assert house.desk.ready() == "engine: docker: gone"
        house.worker.clock = lambda: time.time() + 7_200.0
        house.worker.wake()
        await house.settled()
    assert (await house.store.jobs())[0].tries == 3
    assert house.troubles.all() == ()
    told = [(event.what, event.data["over"]) for event in house.bus.since(0) if event.kind == "broken"]
    assert told == [("docker: gone", False), ("engine works again", True)]


async def test_draining_begins_nothing_and_leaves_the_job_in_the_queue(tmp_path: Path) -> None:
    house = House(tmp_path, also=("xls",))
    house.runner.hold = True
    async with house.working():
        await house.queue()
        await house.until(lambda: bool(house.worker.running))
        await house.queue(project="xls")
    jobs = await house.store.jobs()
    assert [(job.state, job.tries) for job in jobs] == [("queued", 1), ("queued", 0)]
    assert jobs[0].reason == "the test ends"


async def test_what_a_dead_process_was_running_goes_on(tmp_path: Path) -> None:
    house = House(tmp_path)
    job = await house.queue()
    await house.store.save(replace(job, state="running", started=1.0, tries=1))
    await house.worker.recover()
    async with house.working():
        await house.settled()
    (job,) = await house.store.jobs()
    assert (job.state, job.tries) == ("done", 2)


async def test_never_two_runs_of_one_project_and_no_more_than_allowed(tmp_path: Path) -> None:
    house = House(tmp_path, more="runs = 2\n", also=("a", "b", "c"))
    house.runner.hold = True
    async with house.working():
        for name in ("a", "b", "c"):
            await house.queue(project=name)
            await house.queue("tasks", project=name, key="2")
        await house.until(lambda: len(house.worker.running) == 2)
        await asyncio.sleep(0.02)
        assert house.runner.most == 2
        house.runner.hold = False
        await house.settled()
    assert sorted(name for name, _ in house.runner.began) == ["a", "b", "c"]


async def test_an_end_that_cannot_be_written_is_written_later(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("daemon.service.worker._STORE_S", 0.01)
    house = House(tmp_path)
    house.runner.hold = True
    async with house.working():
        await house.queue()
        await house.until(lambda: bool(house.worker.running))
        house.store.full, house.runner.hold = 3, False
        await house.settled()
    assert await house.states() == ["done"]
    assert house.runner.began == [("pdf", 1)]


async def test_a_store_that_cannot_be_written_keeps_the_loop_alive(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("daemon.service.worker._STORE_S", 0.01)
    house = House(tmp_path)
    house.store.full = 3
    async with house.working():
        await house.queue()
        await house.settled()
    assert await house.states() == ["done"]
    assert house.troubles.all() == ()


async def test_a_pause_lets_the_run_end_softly_and_holds_the_project_until_it_is_resumed(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.runner.hold = True
    async with house.working():
        await house.queue()
        await house.until(lambda: bool(house.worker.running))
        await house.desk.pause("pdf", "holiday")
        await house.until(lambda: not house.worker.running)
        assert await house.states() == ["queued"]
        status = await house.desk.status()
        assert (status.projects[0].state, status.projects[0].why) == ("paused", "holiday")
        house.runner.hold = False
        await house.desk.resume("pdf")
        await house.settled()
    assert await house.states() == ["done"]


async def test_a_pause_outlives_the_process(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.store.pause(Pause("", 1.0, "holiday"))
    await house.queue()
    async with house.working():
        await asyncio.sleep(0.02)
    assert house.runner.began == []
    assert (await house.desk.status()).paused == "holiday"


async def test_a_cancelled_job_has_ended_for_good_soft_and_hard(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.runner.hold = True
    async with house.working():
        for hard in (False, True):
            job = await house.queue(key=str(hard))
            await house.until(lambda: bool(house.worker.running))
            await house.desk.cancel(job.number, hard=hard)
            await house.until(lambda: not house.worker.running)
    assert await house.states() == ["cancelled", "cancelled"]


async def test_a_broken_file_holds_its_project_and_its_mending_lets_it_go_on(tmp_path: Path) -> None:
    house = House(tmp_path)
    (tmp_path / "honed.toml").write_text("[skill\n")
    house.projects.reload()
    await house.queue()
    async with house.working():
        await asyncio.sleep(0.02)
        assert house.runner.began == []
        seat = (await house.desk.status()).projects[0]
        assert (seat.state, "not valid TOML" in seat.why) == ("broken", True)
        lay(tmp_path)
        house.projects.reload()
        house.worker.wake()
        await house.settled()
    assert load_config(tmp_path / "honed.toml").skill.path == "skills/pdf"
    assert await house.states() == ["done"]


async def test_the_days_caps_of_the_status_are_those_that_count_now(tmp_path: Path) -> None:
    house = House(tmp_path)
    before = await house.desk.status()
    assert (before.cap_today_usd, before.cap_today_attempts) == (None, None)
    lay(tmp_path, more="[daemon.day]\nusd = 7.5\nattempts = 40\n")
    house.projects.reload()
    after = await house.desk.status()
    assert (after.cap_today_usd, after.cap_today_attempts) == (7.5, 40)


async def test_a_job_whose_run_had_ended_does_no_other_jobs_work(tmp_path: Path, monkeypatch: Any) -> None:
    async def ended(project: Project, run_id: str) -> JobEnd | None:
        return DONE if run_id == "r-1" else None

    monkeypatch.setattr("daemon.service.worker.ended_run", ended)
    house = House(tmp_path)
    house.runner.ends = [replace(DONE, accepted=2)]
    job = await house.queue()
    await house.store.save(replace(job, run_id="r-1", tries=1))
    await house.queue("more", key="r-1")
    async with house.working():
        await house.settled()
    assert await house.states() == ["done", "done"]
    assert house.runner.began == [("pdf", 1), ("pdf", 2)]


async def test_a_job_that_waits_is_chosen_however_many_came_after_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("daemon.service.worker._NEWEST", 2)
    house = House(tmp_path, also=("xls",))
    first = await house.queue(project="xls")
    for number in range(4):
        job = await house.queue(key=str(number))
        await house.store.save(replace(job, state="done", ended=job.created, accepted=1, score=0.5))
    assert first.number in {job.number for job in (await house.desk.status()).projects[1].queued}
    assert (await house.desk.status()).projects[0].accepted == 4, "of all jobs, not of those that choosing looks at"
    async with house.working():
        await house.settled()
    assert house.runner.began == [("xls", first.number)]


async def test_no_job_is_left_running_where_the_others_cannot_be_joined(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("daemon.service.worker._STORE_S", 0.01)
    house = House(tmp_path)
    await house.queue()
    await house.queue("tasks", key="2")
    house.store.full, house.store.only = 3, "joined"
    async with house.working():
        await house.settled()
    assert (await house.states(), house.runner.began) == (["done", "joined"], [("pdf", 1)])
    told = [event.data["over"] for event in house.bus.since(0) if event.kind == "broken"]
    assert told[-1] is True


async def test_a_stop_at_once_ends_though_an_end_cannot_be_written(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("daemon.service.worker._STORE_S", 0.01)
    house = House(tmp_path)
    house.runner.hold = True
    async with house.working():
        await house.queue()
        await house.until(lambda: bool(house.runner.began))
        house.store.full, house.store.only, house.runner.hold = 1_000_000, "done", False
        await house.until(lambda: any(run.over for run in house.worker.running.values()))
        await house.until(lambda: house.store.full < 1_000_000)
        assert [one.name for one in house.troubles.all()] == ["job store"]
        house.worker.draining = "the test ends"
        await asyncio.wait_for(house.worker.stop_hard(), PATIENCE_S)
        assert house.worker.running == {}
    assert await house.states() == ["running"], "the next process finds it, and goes on"


async def test_a_hard_stop_does_not_cut_off_the_writing_down_of_an_end(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.store.may_end.clear()
    async with house.working():
        job = await house.queue()
        await house.until(lambda: any(run.over for run in house.worker.running.values()))
        stopping = asyncio.create_task(house.desk.cancel(job.number, hard=True))
        await asyncio.sleep(0)
        house.store.may_end.set()
        assert (await asyncio.wait_for(stopping, PATIENCE_S)).state == "done"
        assert house.worker.running == {}


@pytest.mark.parametrize("act", ["cancel", "pause"])
async def test_what_is_told_while_a_job_is_being_begun_counts(tmp_path: Path, act: str) -> None:
    house = House(tmp_path)
    job = await house.queue()

    def meanwhile() -> Any:
        if not house.worker.running:
            return None
        return house.desk.cancel(job.number, hard=False) if act == "cancel" else house.desk.pause("pdf", "holiday")

    house.store.meanwhile = meanwhile
    async with house.working():
        await house.until(lambda: house.store.meanwhile is None)
        await house.until(lambda: not house.worker.running)
    assert house.runner.began == [], "no run was begun"
    assert await house.states() == ["cancelled" if act == "cancel" else "queued"]


async def test_a_pause_between_the_choice_and_its_beginning_begins_nothing(tmp_path: Path) -> None:
    house = House(tmp_path)
    await house.queue()
    house.store.meanwhile = lambda: house.desk.pause("pdf", "holiday")
    async with house.working():
        await house.until(lambda: house.store.meanwhile is None)
        await house.until(lambda: house.worker.last is not None and house.worker.last.seats[0].state == "paused")
    assert (house.runner.began, await house.states()) == ([], ["queued"])


async def test_a_look_that_fails_keeps_nothing_from_being_chosen(tmp_path: Path) -> None:
    house = House(tmp_path)
    house.blind = [RuntimeError("a fault")]
    house.runner.ends = [replace(DONE, accepted=1)]
    with structlog.testing.capture_logs() as logs:
        async with house.working():
            await house.queue()
            await house.settled()
    assert house.runner.began == [("pdf", 1), ("pdf", 2)]
    assert [row["event"] for row in logs if row["log_level"] == "error"] == ["a look after a run failed"]


async def test_a_provider_s_trouble_ends_with_its_circuit_though_no_job_waits_any_more(tmp_path: Path) -> None:
    house = House(tmp_path)
    circuit = house.worker.circuits.of(house.projects.all()[0].config)["target"]
    circuit.note(Outcome.AUTH, 0.0)
    circuit.begin_probe(0.0)  # else it would be waited for
    house.runner.ends = [JobEnd("queued", "no key", house.worker.clock() + 1e5, "provider")]
    async with house.working():
        job = await house.queue()
        await house.until(lambda: bool(house.troubles.all()))
        await house.desk.cancel(job.number, hard=False)
    assert [one.name for one in (await house.desk.status()).troubles] == ["provider"]
    circuit.note(Outcome.COMPLETED, 0.0)
    assert (await house.desk.status()).troubles == ()


async def test_only_what_a_run_proves_is_over_with_it(tmp_path: Path) -> None:
    house = House(tmp_path)
    for name in ("engine", "repository", "disk low", "remote"):
        house.troubles.begin(name, "does not work", project="pdf")
    async with house.working():
        await house.queue()
        await house.settled()
    assert [one.name for one in house.troubles.all()] == ["disk low", "remote"]


async def test_a_status_that_is_asked_while_a_skill_is_added_tells_the_others(tmp_path: Path) -> None:
    house = House(tmp_path)
    asked: list[str] = []

    async def add() -> None:
        lay(tmp_path / "two", "two")
        lay(tmp_path, more='[daemon]\nalso = ["two/honed.toml"]\n')
        assert house.projects.reload() == ()

    def second_time() -> Any:
        asked.append("pauses")
        return add() if len(asked) == 2 else None

    house.store.meanwhile = second_time
    assert [one.name for one in (await house.desk.status()).projects] == ["pdf"]
    assert [one.name for one in (await house.desk.status()).projects] == ["pdf", "two"]
