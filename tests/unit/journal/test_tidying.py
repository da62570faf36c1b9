"""The journal's file stays as small as what it holds, and nothing is lost on the way."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from daemon.journal import tidying
from daemon.journal.sqlite import SqliteJournal
from daemon.journal.tidying import size_of
from tests.support.journal import a_run


async def full_journal(path: Path, *, replies: int = 40) -> SqliteJournal:
    journal = SqliteJournal(path)
    await journal.open_run(a_run())
    for number in range(replies):
        await journal.save_reply("r-1", f"1/reflect/{number}", "d", {"text": "x" * 60_000})
    return journal


async def forget(journal: SqliteJournal) -> None:
    await journal._db.write(lambda db: db.execute("DELETE FROM replies WHERE seq % 4"))


async def test_a_long_log_is_folded_in(tmp_path: Path) -> None:
    journal = await full_journal(tmp_path / "j.db")
    log = tmp_path / "j.db-wal"
    assert log.stat().st_size > tidying._LOG_BYTES
    await journal.tidy()
    assert log.stat().st_size == 0
    assert len(await journal.replies("r-1")) == 40
    await journal.close()


async def test_free_pages_are_given_back_where_it_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "_FREE_BYTES", 1024 * 1024)
    journal = await full_journal(tmp_path / "j.db")
    await journal.tidy()
    await forget(journal)
    before = size_of(tmp_path / "j.db")
    freed = await journal.tidy()
    assert freed > before / 2
    assert size_of(tmp_path / "j.db") == before - freed
    assert len(await journal.replies("r-1")) == 10
    assert await journal._db.read(lambda db: db.execute("PRAGMA integrity_check").fetchone()[0]) == "ok"
    assert await journal.tidy() == 0
    await journal.close()


async def test_little_that_is_free_is_left_for_what_comes(tmp_path: Path) -> None:
    journal = await full_journal(tmp_path / "j.db")
    await forget(journal)
    await journal.tidy()
    assert await journal._db.read(lambda db: db.execute("PRAGMA freelist_count").fetchone()[0]) > 0
    await journal.close()


async def test_a_full_disk_keeps_the_file_from_being_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tidying, "_FREE_BYTES", 1024 * 1024)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    journal = await full_journal(tmp_path / "j.db")
    await forget(journal)
    await journal.tidy()
    assert await journal._db.read(lambda db: db.execute("PRAGMA freelist_count").fetchone()[0]) > 0
    await journal.close()


async def test_a_busy_reader_only_puts_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidying, "_FREE_BYTES", 1024 * 1024)
    monkeypatch.setattr(tidying, "_PATIENCE_MS", 1)
    journal = await full_journal(tmp_path / "j.db")
    reader = sqlite3.connect(tmp_path / "j.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM replies").fetchone() == (40,)
    await forget(journal)
    await journal.tidy()
    assert reader.execute("SELECT count(*) FROM replies").fetchone() == (40,)
    reader.close()
    assert await journal._db.read(lambda db: db.execute("PRAGMA busy_timeout").fetchone()[0]) == 10_000
    assert len(await journal.replies("r-1")) == 10
    assert await journal.tidy() > 0
    await journal.close()
