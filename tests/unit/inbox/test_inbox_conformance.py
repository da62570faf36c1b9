"""Whatever keeps sessions keeps them alike: in memory and in SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.inbox.inbox import FileMark, Inbox, age_of
from daemon.inbox.memory import MemoryInbox
from daemon.inbox.sqlite import FILE, SqliteInbox
from daemon.journal.journal import JournalError
from tests.support.sessions import NOON, SKILL, incident, record


@pytest.fixture(params=["memory", "sqlite"])
async def inbox(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Inbox]:
    made: Inbox = MemoryInbox() if request.param == "memory" else SqliteInbox(tmp_path / FILE)
    yield made
    await made.close()
    await made.close()


async def test_what_is_saved_is_read_back_whole(inbox: Inbox) -> None:
    one = record(1, incident(), incident("error", "x", count=3), folder="~/app", settled=False)
    assert await inbox.save(one, NOON) == "new"
    assert await inbox.sessions() == (one,)
    assert await inbox.find(one.key[:8]) == (one,)
    assert await inbox.find("session-1") == (one,)
    assert await inbox.find("000") == (), "too short to name one"
    assert await inbox.find("nosuch") == ()
    assert await inbox.find("%%%%") == ()


async def test_the_same_session_twice_is_one_and_the_longer_reading_stands(inbox: Inbox) -> None:
    short = record(1, size=10, digest="sha256:a")
    grown = record(1, incident(), size=20, digest="sha256:b")
    assert [await inbox.save(one, NOON) for one in (short, short, grown, short, grown)] == [
        "new", "known", "grown", "known", "known",
    ]  # fmt: skip
    assert await inbox.sessions() == (grown,)
    rewritten = record(1, size=20, digest="sha256:c")
    assert await inbox.save(rewritten, NOON) == "grown"


async def test_a_session_that_has_ended_meanwhile_replaces_its_live_reading_and_not_the_other_way(inbox: Inbox) -> None:
    live, over = record(1, settled=False), record(1, incident("abandoned", "ended without an answer"))
    assert [await inbox.save(one, NOON) for one in (live, over, live)] == ["new", "grown", "known"]
    assert await inbox.sessions() == (over,)


async def test_sessions_of_a_skill_the_newest_first(inbox: Inbox) -> None:
    rows = [record(2), record(1, opened=False), record(3, skills=("other",)), record(4, ended=None)]
    for one in rows:
        await inbox.save(one, NOON - 10)
    ages = [age_of(one, NOON - 10) for one in await inbox.sessions()]
    assert ages == sorted(ages, reverse=True)
    assert {one.key for one in await inbox.sessions(SKILL)} == {rows[n].key for n in (0, 1, 3)}
    assert await inbox.sessions("nosuch") == ()


async def test_it_is_bounded_in_age_and_number(inbox: Inbox) -> None:
    for number in range(6):
        await inbox.save(record(number), NOON)
    assert await inbox.prune(older_than=NOON - 4, most=3) == 3
    assert [one.session_id for one in await inbox.sessions()] == ["session-0", "session-1", "session-2"]
    assert await inbox.prune(older_than=NOON - 1, most=3) == 1
    assert await inbox.prune(older_than=NOON - 1, most=3) == 0


async def test_a_session_from_the_future_is_as_old_as_its_arrival(inbox: Inbox) -> None:
    await inbox.save(record(1, ended=NOON * 2), NOON)
    assert await inbox.prune(older_than=NOON + 1, most=9) == 1


async def test_files_are_remembered(inbox: Inbox) -> None:
    assert await inbox.settled() == {}
    for mark in (FileMark("p", "s1"), FileMark("p", "s2"), FileMark("q", "s3"), FileMark("q", "s4", settled=False)):
        await inbox.mark(mark, NOON)
    assert await inbox.settled() == {"p": "s2"}, "what went on is read again"


async def test_the_file_is_its_owner_s_alone_and_survives_its_process(tmp_path: Path) -> None:
    inbox = SqliteInbox(tmp_path / FILE)
    await inbox.save(record(1), NOON)
    await inbox.close()
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    again = SqliteInbox(tmp_path / FILE, read_only=True)
    assert await again.sessions() == (record(1),)
    with pytest.raises(JournalError, match="inbox"):
        await again.save(record(2), NOON)
    await again.close()


async def test_marks_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.inbox.sqlite.MOST_MARKS", 2)
    inbox = SqliteInbox(tmp_path / FILE)
    for number in range(4):
        await inbox.mark(FileMark(f"p{number}", "s"), NOON + number)
    await inbox.prune(older_than=0, most=9)
    assert await inbox.settled() == {"p2": "s", "p3": "s"}
    await inbox.close()


async def test_a_row_that_cannot_be_read_is_said_with_a_remedy(tmp_path: Path) -> None:
    inbox = SqliteInbox(tmp_path / FILE)
    await inbox.save(record(1), NOON)
    await inbox._db.write(lambda db: db.execute("""UPDATE sessions SET record = '{"key": 3}'"""))
    with pytest.raises(JournalError, match=f"delete {FILE}"):
        await inbox.sessions()
    await inbox.close()
