"""What all skills together may take on one day."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.budget.purse import OpenPurse
from daemon.budget.totals import Totals
from daemon.config import Config, ConfigError, load_config
from daemon.config_train import CapSection
from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptKey, RunRecord
from daemon.journal.sqlite import SqliteJournal
from daemon.service.day import DayPurse, DayReached, SharedDay
from daemon.service.ends import end_of
from daemon.service.leash import Leash
from daemon.service.project import Project
from sandboxes.gateway.policy import Usage
from tests.unit.service.test_projects import lay

NOON = 1_000_000_000.0 // 86_400 * 86_400 + 43_200


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


def day(clock: Clock, *projects: Project, **caps: float) -> SharedDay:
    return SharedDay(lambda: CapSection(**caps), lambda: projects, clock)


async def spend(purse: DayPurse, tokens: int = 0) -> None:
    async with purse.spending("target") as spent:
        spent.usage = Usage(1, tokens, 0, 0, 0.01)


async def test_purses_of_several_runs_share_one_cap() -> None:
    shared = day(Clock(), attempts=3)
    one, two = DayPurse(OpenPurse(), shared), DayPurse(OpenPurse(), shared)
    for purse in (one, two, one):
        await spend(purse)
    for purse in (one, two):
        with pytest.raises(DayReached, match=r"^\[daemon.day\] attempts = 3 is used up \(3\): .*wait until tomorrow"):
            purse.check()
        with pytest.raises(DayReached):
            await spend(purse)


async def test_no_run_begins_before_what_all_have_spent_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_read = asyncio.Event()

    async def spent(config: Config, now: float) -> Totals:
        await may_read.wait()
        return Totals().plus(5, Usage())

    monkeypatch.setattr("daemon.service.day.spent_today", spent)
    shared = day(Clock(), Project("pdf", load_config(lay(tmp_path))), attempts=5)
    begins = [asyncio.create_task(shared.begin()) for _ in range(2)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert [task.done() for task in begins] == [False, False]
    may_read.set()
    await asyncio.gather(*begins)
    with pytest.raises(DayReached, match=r"\(5\)"):
        shared.check()


async def test_what_is_in_flight_counts_as_an_attempt_at_once() -> None:
    shared = day(Clock(), attempts=1)
    purse = DayPurse(OpenPurse(), shared)
    async with purse.spending("target"):
        with pytest.raises(DayReached):
            await spend(purse)


@pytest.mark.parametrize("caps", [{"tokens": 100}, {"usd": 0.02}])
async def test_tokens_and_money_are_counted_when_they_are_known(caps: dict[str, float]) -> None:
    purse = DayPurse(OpenPurse(), day(Clock(), **caps))
    await spend(purse, 60)
    await spend(purse, 60)
    with pytest.raises(DayReached):
        purse.check()


async def test_a_new_day_begins_with_nothing() -> None:
    clock = Clock()
    purse = DayPurse(OpenPurse(), day(clock, attempts=1))
    await spend(purse)
    clock.now += 43_199
    with pytest.raises(DayReached):
        purse.check()
    clock.now += 1
    await spend(purse)


async def attempts_elsewhere(project: Project, clock: Clock, run_id: str, n: int) -> None:
    """Another process makes attempts in a project."""
    project.state.mkdir(exist_ok=True)
    journal = SqliteJournal(project.state / "journal.sqlite", clock=clock)
    await journal.open_run(RunRecord(run_id, f"f-{run_id}", "skills/pdf", "c", "open", NOON))
    for number in range(n):
        key = AttemptKey("s", f"{run_id}-t{number}", "chat", {})
        await journal.plan_attempt(f"{run_id}-a{number}", run_id, f"t{number}", key)
    await journal.close()


async def test_what_another_process_spends_between_two_runs_counts_and_nothing_counts_twice(tmp_path: Path) -> None:
    clock = Clock()
    one, two = (Project(name, load_config(lay(tmp_path / name))) for name in ("one", "two"))
    shared = day(clock, one, two, attempts=10)
    purse = DayPurse(OpenPurse(), shared, "one")
    await purse.begin_run("r")
    await spend(purse)
    await attempts_elsewhere(one, clock, "r", 1)  # what this process writes down itself
    await purse.begin_step(1)
    await attempts_elsewhere(one, clock, "alone", 3)  # then somebody trains it alone, and the other one meanwhile
    await attempts_elsewhere(two, clock, "alone", 5)
    shared.check()
    await DayPurse(OpenPurse(), shared, "two").begin_run("r")
    shared.check()
    await spend(purse)
    with pytest.raises(DayReached, match=r"\(10\)"):
        shared.check()


async def test_nothing_is_spent_while_nobody_can_tell_what_was(tmp_path: Path) -> None:
    clock = Clock()
    one, two = (Project(name, load_config(lay(tmp_path / name))) for name in ("one", "two"))
    two.state.mkdir()
    (two.state / "journal.sqlite").write_bytes(b"no journal" * 100)
    await DayPurse(OpenPurse(), day(clock, one, two), "one").begin_run("r")
    purse = DayPurse(OpenPurse(), day(clock, one, two, attempts=3), "one")
    with pytest.raises(JournalError, match=r"\[daemon\.day\].*two has spent.*two/\.honed/journal\.sqlite: ") as raised:
        await purse.begin_run("r")
    end = end_of(raised.value, Leash(), 1, NOON)
    assert (end.state, end.trouble) == ("queued", "journal")
    (two.state / "journal.sqlite").unlink()
    await purse.begin_run("r")


async def test_what_was_spent_before_a_restart_counts_once(tmp_path: Path) -> None:
    clock = Clock()
    file = lay(tmp_path)
    project = Project("pdf", load_config(file))
    await attempts_elsewhere(project, clock, "r", 2)
    purse = DayPurse(OpenPurse(), day(clock, project, attempts=3))
    await purse.begin_run("r")
    await purse.begin_run("r")
    await spend(purse)
    with pytest.raises(DayReached):
        purse.check()


def test_the_job_waits_for_midnight() -> None:
    shared = day(Clock(), attempts=1)
    shared.add(1, Usage())
    with pytest.raises(DayReached) as raised:
        shared.check()
    end = end_of(raised.value, Leash(), 1, NOON)
    assert (end.state, end.not_before) == ("queued", NOON + 43_200)


def test_minutes_cannot_be_capped_over_several_skills(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\[daemon\] day.*cannot cap minutes"):
        load_config(lay(tmp_path, more="[daemon]\nday = { minutes = 5 }\n"))


async def test_what_was_read_at_midnight_is_no_part_of_the_new_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    async def spent(config: Config, now: float) -> Totals:
        clock.now = NOON + 86_400  # it takes so long
        return Totals().plus(5 if now == NOON else 1, Usage())

    monkeypatch.setattr("daemon.service.day.spent_today", spent)
    shared = day(clock, Project("pdf", load_config(lay(tmp_path))), attempts=2)
    await shared.begin()
    shared.check()
    shared.add(1, Usage(), "pdf")
    with pytest.raises(DayReached, match=r"\(2\)"):
        shared.check()


async def test_a_clock_that_is_turned_back_buys_no_second_day(tmp_path: Path) -> None:
    clock = Clock()
    project = Project("pdf", load_config(lay(tmp_path)))
    shared = day(clock, project, attempts=3)
    purse = DayPurse(OpenPurse(), shared, "pdf")
    await purse.begin_run("r")
    for _ in range(2):
        await spend(purse)
    await attempts_elsewhere(project, clock, "r", 2)  # as this process writes them down
    clock.now = NOON + 86_400
    await purse.begin_step(1)
    await spend(purse)
    await attempts_elsewhere(project, clock, "later", 1)
    shared.check()
    clock.now = NOON
    await purse.begin_step(2)
    with pytest.raises(DayReached, match=r"\(3\)"):
        shared.check()
    clock.now = NOON + 2 * 86_400
    for _ in range(3):
        await spend(purse)
    clock.now = NOON
    with pytest.raises(DayReached, match=r"\(3\)"):
        shared.check()


@pytest.mark.parametrize("caps", [{"tokens": 100}, {"usd": 5.0}])
async def test_what_a_provider_does_not_count_cannot_be_capped_and_stops_its_own_skill_alone(
    caps: dict[str, float],
) -> None:
    shared = day(Clock(), **caps)
    silent, other = DayPurse(OpenPurse(), shared, "silent"), DayPurse(OpenPurse(), shared, "other")
    for _ in range(3):
        await spend(silent)
    with pytest.raises(ConfigError, match=r"^\[daemon.day\] cannot be kept: the provider of \[target\] tells no token"):
        await spend(silent)
    await spend(other)
    attempts = DayPurse(OpenPurse(), day(Clock(), attempts=9))
    for _ in range(4):
        await spend(attempts)


async def test_money_of_an_unknown_price_cannot_be_capped() -> None:
    purse = DayPurse(OpenPurse(), day(Clock(), usd=5.0))
    async with purse.spending("target") as spent:
        spent.usage = Usage(1, 10, 0, 0, None)
    with pytest.raises(ConfigError, match=r"^\[daemon.day\] usd cannot be kept: .* no known price"):
        purse.check()
