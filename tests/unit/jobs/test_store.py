"""One conformance suite for the job store: the real file and the fake."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.jobs.job import Cause, Job
from daemon.jobs.memory import MemoryStore
from daemon.jobs.sqlite import FILE, JOBS, SqliteStore
from daemon.jobs.store import JobStore, Pause
from daemon.journal.database import Database
from daemon.journal.journal import JournalError
from daemon.journal.schema import Schema
from daemon.service.told_store import ToldStore
from daemon.service.troubles import Troubles
from daemon.telling.events import Bus


@pytest.fixture(params=["sqlite", "memory", "told"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[JobStore]:
    made: JobStore = SqliteStore(tmp_path / FILE) if request.param == "sqlite" else MemoryStore()
    if request.param == "told":
        made = ToldStore(made, Troubles(Bus()))
    yield made
    await made.close()


async def test_the_same_cause_twice_is_one_job_whatever_became_of_it(store: JobStore) -> None:
    first = await store.add("pdf", Cause("tasks", "sha:1", "2 new tasks"), 10.0)
    assert first is not None
    assert await store.add("pdf", Cause("tasks", "sha:1"), 11.0) is None
    await store.save(replace(first, state="done", ended=12.0))
    assert await store.add("pdf", Cause("tasks", "sha:1"), 13.0) is None
    others = [
        await store.add("pdf", Cause("tasks", "sha:2"), 14.0),
        await store.add("pdf", Cause("skill", "sha:1"), 15.0),
        await store.add("xls", Cause("tasks", "sha:1"), 16.0),
    ]
    assert [job.number for job in others if job] == [2, 3, 4]


async def test_a_job_is_read_back_as_it_was_saved(store: JobStore) -> None:
    job = await store.add("pdf", Cause("skill", "abc", "by Ann"), 10.0)
    assert job is not None
    done = replace(
        job,
        state="done",
        not_before=9.0,
        started=11.0,
        ended=12.5,
        run_id="r-1",
        reason="all steps done",
        tries=2,
        accepted=3,
        score=0.75,
        tasks=24,
        chosen="highest expected gain",
    )
    await store.save(done)
    assert await store.job(job.number) == done
    assert await store.jobs() == (done,)
    assert await store.jobs(open_only=True) == ()
    assert await store.job(99) is None


async def test_what_a_job_is_about_never_changes(store: JobStore) -> None:
    job = await store.add("pdf", Cause("skill", "abc"), 10.0)
    assert job is not None
    await store.save(replace(job, project="other", cause=Cause("new", "x"), created=99.0, tries=1))
    assert await store.job(1) == replace(job, tries=1)


async def test_old_jobs_are_forgotten_but_for_those_that_are_open_or_accepted_something(store: JobStore) -> None:
    for number, accepted in enumerate([None, 2, None, 0, None, None], 1):
        job = await store.add("pdf", Cause("more", f"run-{number}"), float(number))
        assert job is not None
        if number != 3:
            await store.save(replace(job, state="done", ended=9.0, accepted=accepted))
    assert await store.prune(6) == 0
    assert await store.prune(2) == 2
    assert [job.number for job in await store.jobs()] == [2, 3, 5, 6]
    assert await store.prune(0) == 2
    assert await store.accepted() == {"pdf": 2}
    again = await store.add("pdf", Cause("more", "run-6"), 10.0)
    assert again is not None
    assert again.number == 7, "no number is given twice"


async def test_the_newest_jobs_come_in_order(store: JobStore) -> None:
    for number in range(5):
        await store.add("pdf", Cause("more", f"run-{number}"), float(number))
    assert [job.number for job in await store.jobs(newest=2)] == [4, 5]
    assert await store.jobs(newest=0) == ()
    assert len(await store.jobs(newest=99)) == 5


async def test_accepted_edits_are_counted_over_all_jobs(store: JobStore) -> None:
    assert await store.accepted() == {}
    for number, (project, accepted) in enumerate([("pdf", 2), ("pdf", None), ("xls", 0), ("pdf", 3)]):
        job = await store.add(project, Cause("more", f"run-{number}"), 1.0)
        assert job is not None
        await store.save(replace(job, state="done", ended=2.0, accepted=accepted))
    assert await store.accepted() == {"pdf": 5}


async def test_what_was_seen_is_kept_by_project(store: JobStore) -> None:
    assert await store.seen("pdf") is None
    await store.note("pdf", {"tasks": "sha:1", "tip": None})
    await store.note("xls", {"tasks": "sha:9"})
    await store.note("pdf", {"tasks": "sha:2", "tip": "abc"})
    assert await store.seen("pdf") == {"tasks": "sha:2", "tip": "abc"}


async def test_a_pause_stays_until_it_is_ended(store: JobStore) -> None:
    await store.pause(Pause("pdf", 5.0, "holiday"))
    await store.pause(Pause("", 6.0))
    await store.pause(Pause("pdf", 7.0, "still away"))
    assert await store.pauses() == (Pause("", 6.0), Pause("pdf", 7.0, "still away"))
    await store.resume("pdf")
    await store.resume("pdf")
    assert await store.pauses() == (Pause("", 6.0),)


async def test_everything_outlives_the_process(tmp_path: Path) -> None:
    first = SqliteStore(tmp_path / FILE)
    job = await first.add("pdf", Cause("new", "pdf"), 1.0)
    await first.note("pdf", {"a": 1})
    await first.pause(Pause("pdf", 2.0, "why"))
    # Not closed: a killed process closes nothing.
    second = SqliteStore(tmp_path / FILE)
    assert job is not None
    assert (await second.jobs(), await second.seen("pdf")) == ((job,), {"a": 1})
    assert await second.pauses() == (Pause("pdf", 2.0, "why"),)
    assert await second.add("pdf", Cause("new", "pdf"), 3.0) is None
    for one in (first, second):
        await one.close()


async def test_a_store_of_the_first_version_is_renewed_with_its_jobs(tmp_path: Path) -> None:
    first = Schema(JOBS.what, JOBS.application_id, JOBS.migrations[:1], JOBS.made_by)
    old = Database(tmp_path / FILE, schema=first)
    await old.write(
        lambda connection: connection.execute(
            "INSERT INTO jobs VALUES "
            "(7, 'pdf', 'skill', 'abc', '', 'queued', 1, 0, NULL, NULL, '', '', 0, NULL, NULL, 0)"
        )
    )
    await old.close()
    renewed = SqliteStore(tmp_path / FILE)
    assert await renewed.jobs() == (Job(7, "pdf", Cause("skill", "abc"), "queued", 1.0),)
    await renewed.close()


async def test_a_reader_writes_nothing_and_says_what_makes_the_file(tmp_path: Path) -> None:
    reader = SqliteStore(tmp_path / FILE, read_only=True)
    with pytest.raises(JournalError, match=r"there is no job store at .*daemon.sqlite \(run `honed daemon` first\)"):
        await reader.jobs()
    await reader.close()
    assert list(tmp_path.iterdir()) == []


def _of_another(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("spoil", [lambda file: file.write_bytes(b"x" * 4096), _of_another])
async def test_another_programs_file_is_left_alone(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    file = tmp_path / FILE
    spoil(file)
    before = file.read_bytes()
    store = SqliteStore(file)
    with pytest.raises(JournalError, match=r"daemon.sqlite"):
        await store.jobs()
    await store.close()
    assert file.read_bytes() == before
