"""What only a file can show: durability settings, other processes, damage, versions, full disks."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import sys
import threading
from pathlib import Path

import pytest

from daemon.journal import database
from daemon.journal.journal import JournalError
from daemon.journal.schema import APPLICATION_ID, MIGRATIONS
from daemon.journal.sqlite import SqliteJournal
from tests.support.journal import a_key, a_record, a_run
from tests.support.waiting import PATIENCE_S


async def _with_rows(path: Path) -> None:
    journal = SqliteJournal(path)
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1"))
    await journal.close()


async def _read_all(journal: SqliteJournal) -> None:
    await journal.find_runs()
    await journal.attempts("r-1")


async def test_rows_outlive_the_process(tmp_path: Path) -> None:
    await _with_rows(tmp_path / "j.db")
    journal = SqliteJournal(tmp_path / "j.db")
    assert await journal.find_scored(a_key()) == a_record("a-1")
    assert await journal.find_runs() == (a_run(),)
    await journal.close()


async def test_the_file_is_durable_and_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.db"
    journal = SqliteJournal(path)
    await journal.open_run(a_run())
    values = [
        await journal._db.read(lambda db, name=name: db.execute(f"PRAGMA {name}").fetchone()[0])  # type: ignore[misc]
        for name in ("journal_mode", "synchronous", "foreign_keys", "user_version", "application_id")
    ]
    assert values == ["wal", 2, 1, len(MIGRATIONS), APPLICATION_ID]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_name("j.db-wal").stat().st_mode) == 0o600
    await journal.close()


async def test_one_thread_does_all_the_work(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    names = await asyncio.gather(*[journal._db.read(lambda _: threading.get_ident()) for _ in range(20)])
    assert len(set(names)) == 1
    assert names[0] != threading.get_ident()
    await journal.close()


async def test_many_concurrent_writers_in_one_process_lose_nothing(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    await journal.open_run(a_run())

    async def one(number: int) -> None:
        key = a_key(trial=number)
        await journal.plan_attempt(f"a-{number}", "r-1", "t-1", key)
        await journal.finish_attempt(a_record(f"a-{number}", key))

    await asyncio.gather(*map(one, range(50)))
    assert len(await journal.attempts("r-1")) == 50
    await journal.close()


async def test_a_cancelled_write_is_whole_and_the_journal_goes_on(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    await journal.open_run(a_run())
    task = asyncio.create_task(journal.plan_attempt("a-1", "r-1", "t-1", a_key()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key())
    assert await journal.unfinished_attempts() in (("a-1", "a-2"), ("a-2",))
    await journal.close()


async def test_another_process_reads_while_a_run_writes(tmp_path: Path) -> None:
    writer = SqliteJournal(tmp_path / "j.db")
    await writer.open_run(a_run())
    reader = SqliteJournal(tmp_path / "j.db", read_only=True)
    assert await reader.find_runs() == (a_run(),)

    await writer._db.write(lambda _: None)
    await writer.plan_attempt("a-1", "r-1", "t-1", a_key())
    await writer.finish_attempt(a_record("a-1"))
    assert await reader.attempts("r-1") == (a_record("a-1"),)
    with pytest.raises(JournalError, match="read-only"):
        await reader.open_run(a_run("r-2"))
    await reader.close()
    await writer.close()


async def test_a_reader_sees_the_last_commit_while_a_write_is_open(tmp_path: Path) -> None:
    await _with_rows(tmp_path / "j.db")
    other = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("DELETE FROM attempts")
    reader = SqliteJournal(tmp_path / "j.db", read_only=True, busy_timeout_s=0.05)
    assert await reader.attempts("r-1") == (a_record("a-1"),)
    other.execute("ROLLBACK")
    other.close()
    await reader.close()


async def test_reading_a_journal_that_is_not_there_names_the_command_and_makes_nothing(tmp_path: Path) -> None:
    reader = SqliteJournal(tmp_path / "j.db", read_only=True)
    with pytest.raises(JournalError, match=r"j\.db \(run `honed train` first\)"):
        await reader.find_runs()
    await reader.close()
    assert list(tmp_path.iterdir()) == []


async def test_a_locked_file_says_who_to_stop_and_then_goes_on(tmp_path: Path) -> None:
    await _with_rows(tmp_path / "j.db")
    other = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    journal = SqliteJournal(tmp_path / "j.db", busy_timeout_s=0.05)
    assert len(await journal.find_runs()) == 1
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalError, match=r"j\.db: database is locked \(another process is writing"):
        await journal.open_run(a_run("r-2"))
    other.execute("ROLLBACK")
    other.close()
    await journal.open_run(a_run("r-2"))
    assert len(await journal.find_runs()) == 2
    await journal.close()


async def test_a_full_disk_loses_only_the_row_at_hand(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "j.db")
    await journal.open_run(a_run())
    pages = await journal._db.read(lambda db: db.execute("PRAGMA page_count").fetchone()[0])
    await journal._db.read(lambda db: db.execute(f"PRAGMA max_page_count = {pages + 1}").fetchone())
    with pytest.raises(JournalError, match=r"full \(the disk is full: free some space"):
        await journal.save_reply("r-1", "1/reflect/0", "d", {"text": "x" * 100_000})
    assert await journal.find_reply("r-1", "1/reflect/0", "d") is None
    await journal._db.read(lambda db: db.execute("PRAGMA max_page_count = 100000").fetchone())
    await journal.save_reply("r-1", "1/reflect/0", "d", {"text": "short"})
    assert await journal.find_reply("r-1", "1/reflect/0", "d") == {"text": "short"}
    await journal.close()


@pytest.mark.parametrize("damage", ["text", "overwritten", "cut"])
async def test_a_damaged_file_is_named_with_the_remedy_and_left_alone(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "j.db"
    await _with_rows(path)
    whole = path.read_bytes()
    bad = {
        "text": b"not a database" * 100,
        "overwritten": whole[:100] + b"\xff" * (len(whole) - 100),
        "cut": whole[:5000],
    }
    path.write_bytes(bad[damage])
    journal = SqliteJournal(path)
    with pytest.raises(JournalError, match=r"j\.db: .*damaged.*(restore a backup|move it away)"):
        await _read_all(journal)
    await journal.close()
    assert path.read_bytes() == bad[damage]


async def test_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    await _with_rows(tmp_path / "j.db")
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    other.close()
    for read_only in (False, True):
        journal = SqliteJournal(tmp_path / "j.db", read_only=read_only)
        with pytest.raises(JournalError, match=r"newer honed: version \d+, known is \d+ \(update honed\)"):
            await journal.find_runs()
        await journal.close()


async def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "j.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    before = (tmp_path / "j.db").read_bytes()
    journal = SqliteJournal(tmp_path / "j.db")
    with pytest.raises(JournalError, match="another program's database"):
        await journal.open_run(a_run())
    await journal.close()
    assert (tmp_path / "j.db").read_bytes() == before


async def test_an_unfinished_first_migration_is_done_anew(tmp_path: Path) -> None:
    (tmp_path / "j.db").touch()  # killed between making the file and the first commit
    reader = SqliteJournal(tmp_path / "j.db", read_only=True)
    with pytest.raises(JournalError, match="older honed"):
        await reader.find_runs()
    await reader.close()
    await _with_rows(tmp_path / "j.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    journal = SqliteJournal(tmp_path / "j.db")
    with pytest.raises(JournalError, match=r"Permission denied.*writable"):
        await journal.open_run(a_run())
    await journal.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal = SqliteJournal(tmp_path / "file" / "j.db")
    with pytest.raises(JournalError, match=r"file/j\.db: .*(writable)"):
        await journal.open_run(a_run())
    await journal.close()


async def test_the_schema_itself_refuses_impossible_rows(tmp_path: Path) -> None:
    await _with_rows(tmp_path / "j.db")
    db = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    for statement in (
        "UPDATE attempts SET state = 'lost'",
        "UPDATE attempts SET score = 1.5",
        "UPDATE attempts SET hard = NULL",
        "UPDATE attempts SET state = 'planned'",
        "UPDATE attempts SET record = 'no json'",
        "UPDATE attempts SET run_id = 'r-none'",
        "UPDATE runs SET state = 'sleeping'",
        "DELETE FROM runs",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(statement)
    db.close()


async def test_nobody_connects_to_a_file_that_is_just_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor that makes it is closed first: closing it later would drop the other connection's locks."""
    told: list[str] = []
    made, connected, connect = threading.Event(), threading.Event(), sqlite3.connect

    def make(path: Path) -> None:
        with path.open("x"):
            made.set()
            connected.wait(0.2)  # a chance for the other one to be wrong
            told.append("closed")

    def connecting(*words: object, **more: object) -> sqlite3.Connection:
        told.append("connected")
        connected.set()
        return connect(*words, **more)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(database, "_make", make)
    monkeypatch.setattr("daemon.journal.database.sqlite3.connect", connecting)
    first, second = SqliteJournal(tmp_path / "j.db"), SqliteJournal(tmp_path / "j.db")
    making = asyncio.create_task(first.find_runs())
    assert await asyncio.to_thread(made.wait, PATIENCE_S)
    await asyncio.gather(making, second.find_runs())
    assert told == ["closed", "connected", "connected"]
    for journal in (first, second):
        await journal.close()


async def test_a_second_journal_of_a_process_leaves_the_first_one_s_locks(tmp_path: Path) -> None:
    """Closing a descriptor of the file would drop them: another process would then remove the log at its own end."""
    first = SqliteJournal(tmp_path / "j.db")
    await first.open_run(a_run())
    second = SqliteJournal(tmp_path / "j.db")
    assert len(await second.find_runs()) == 1
    ask = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM runs').fetchall(); c.close()"
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", ask, str(tmp_path / "j.db"))
    assert await other.wait() == 0
    assert (tmp_path / "j.db-wal").exists()
    await second.close()
    await first.close()
