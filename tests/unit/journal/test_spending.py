"""What budgets, estimates and `honed show` read back: the same from both journals."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.journal.journal import Journal, JournalError
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import AttemptRow, Decision, ReplyRecord, Span, Spent
from daemon.journal.schema import MIGRATIONS
from daemon.journal.sqlite import SqliteJournal
from tests.support.journal import a_key, a_record, a_run, an_invalid

USAGE = {"input_tokens": 10, "usd": 0.1}


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Journal]:
    path = tmp_path / "journal.db"
    made: Journal = MemoryJournal(clock) if request.param == "memory" else SqliteJournal(path, clock=clock)
    await made.open_run(a_run())
    yield made
    await made.close()


async def attempt(journal: Journal, attempt_id: str, *, run_id: str = "r-1", trial: int = 0) -> None:
    await journal.plan_attempt(attempt_id, run_id, "t-1", a_key(trial=trial))
    await journal.finish_attempt(a_record(attempt_id, a_key(trial=trial)))


async def test_everything_that_was_begun_is_spent_attempts_first(journal: Journal) -> None:
    await journal.save_reply("r-1", "1/rank/0", "p", {"usage": {"usd": 0.5}, "model": "openai/m"})
    await journal.save_reply("r-1", "1/rank/1", "p", {"usage": {"usd": 0.5}})
    await attempt(journal, "a-1")
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key(trial=1))
    await journal.plan_attempt("a-3", "r-1", "t-1", a_key(trial=2))
    await journal.finish_attempt(an_invalid("a-3", a_key(trial=2)))
    await journal.abandon_attempts(("a-2",))
    assert await journal.spent(run_id="r-1") == (
        Spent("target", "codex", "m", USAGE, 1.0625, scored=True),
        Spent("target", "codex", "m", None, 0.0, scored=False),
        Spent("target", "codex", "m", USAGE, 1.0625, scored=False),
        Spent("optimizer", "", "openai/m", {"usd": 0.5}, 0.0, scored=False),
        Spent("optimizer", "", "", {"usd": 0.5}, 0.0, scored=False),
    )
    assert await journal.spent(run_id="r-2") == ()


async def test_an_attempt_counts_when_it_ends_and_an_unfinished_one_when_it_began(
    journal: Journal, clock: Clock
) -> None:
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key(trial=1))
    clock.now = 2000.0
    await journal.finish_attempt(a_record("a-1"))
    await journal.save_reply("r-1", "1/rank/0", "p", {"usage": {}})
    assert [(row.payer, row.usage) for row in await journal.spent(since=2000.0)] == [
        ("target", USAGE),
        ("optimizer", {}),
    ]
    assert len(await journal.spent(since=1000.0)) == 3
    assert await journal.spent(since=2000.5) == ()


async def test_spending_is_of_one_run_or_of_all_and_the_newest_come_last(journal: Journal) -> None:
    await journal.open_run(a_run("r-2"))
    for number in range(4):
        await attempt(journal, f"a-{number}", run_id="r-2" if number % 2 else "r-1", trial=number)
    await journal.save_reply("r-2", "1/rank/0", "p", {"usage": {}})
    assert len(await journal.spent()) == 5
    assert len(await journal.spent(run_id="r-2")) == 3
    assert [row.payer for row in await journal.spent(newest=2)] == ["target", "target", "optimizer"]


async def test_a_span_lasts_until_the_last_row_that_its_process_wrote(journal: Journal, clock: Clock) -> None:
    await journal.begin_span("r-1")
    steps: list[tuple[float, Callable[[], object]]] = [
        (1010.0, lambda: journal.plan_attempt("a-1", "r-1", "t-1", a_key())),
        (1020.0, lambda: journal.finish_attempt(a_record("a-1"))),
        (1030.0, lambda: journal.save_reply("r-1", "1/rank/0", "p", {"usage": {}})),
        (1040.0, lambda: journal.save_decision(Decision("r-1", 1, "step", {}))),
        (900.0, lambda: journal.save_decision(Decision("r-1", 2, "step", {}))),
    ]
    ends = []
    for clock.now, write in steps:
        await write()  # type: ignore[misc]
        ends.append((await journal.spans())[0].seen)
    assert ends == [1010.0, 1020.0, 1030.0, 1040.0, 1040.0], "a clock that was turned back shortens nothing"
    assert await journal.spans() == (Span("r-1", 1000.0, 1040.0),)


async def test_spans_are_of_one_run_and_of_a_time(journal: Journal, clock: Clock) -> None:
    await journal.open_run(a_run("r-2"))
    await journal.begin_span("r-1")
    clock.now = 2000.0
    await journal.begin_span("r-2")
    clock.now = 3000.0
    await journal.begin_span("r-1")
    clock.now = 3005.0
    await attempt(journal, "a-1")
    assert await journal.spans(run_id="r-1") == (Span("r-1", 1000.0, 1000.0), Span("r-1", 3000.0, 3005.0))
    assert await journal.spans(since=2500.0) == (Span("r-1", 3000.0, 3005.0),)
    with pytest.raises(JournalError, match="run r-7 is not in the journal"):
        await journal.begin_span("r-7")


async def test_without_a_span_rows_are_written_all_the_same(journal: Journal) -> None:
    await attempt(journal, "a-1")
    assert await journal.spans() == ()


async def test_replies_come_in_order_of_writing_with_their_places(journal: Journal) -> None:
    await journal.save_reply("r-1", "2/reflect/0", "sha256:b", {"n": 1})
    await journal.save_reply("r-1", "1/reflect/0", "sha256:a", {"n": 2})
    await journal.save_reply("r-1", "2/reflect/0", "sha256:c", {"n": 3})
    assert await journal.replies("r-1") == (
        ReplyRecord("2/reflect/0", "sha256:b", {"n": 1}),
        ReplyRecord("1/reflect/0", "sha256:a", {"n": 2}),
        ReplyRecord("2/reflect/0", "sha256:c", {"n": 3}),
    )
    assert await journal.replies("r-2") == ()


async def test_attempts_come_with_their_keys_by_run_and_by_skill(journal: Journal, clock: Clock) -> None:
    await journal.open_run(a_run("r-2"))
    other = replace(a_key(), skill_digest="sha256:other")
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.plan_attempt("a-2", "r-2", "t-1", other)
    await journal.plan_attempt("a-3", "r-2", "t-1", a_key(trial=1))
    clock.now = 2000.0
    await journal.finish_attempt(a_record("a-2", other))
    await journal.finish_attempt(a_record("a-1"))
    assert await journal.attempt_rows() == (
        AttemptRow("r-2", other, a_record("a-2", other), 1000.0),
        AttemptRow("r-1", a_key(), a_record("a-1"), 1000.0),
    )
    assert [row.record.attempt_id for row in await journal.attempt_rows(run_id="r-1")] == ["a-1"]
    assert [row.record.attempt_id for row in await journal.attempt_rows(skill_digest="sha256:other")] == ["a-2"]
    assert await journal.attempt_rows(run_id="r-1", skill_digest="sha256:other") == ()


async def test_rows_of_an_older_honed_are_kept_and_count_to_no_day(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    journal = SqliteJournal(path)
    await journal.open_run(a_run())
    await attempt(journal, "a-1")
    await journal.save_reply("r-1", "1/rank/0", "p", {"usage": {}})
    await journal.close()
    _age(path)
    journal = SqliteJournal(path)
    assert await journal.spent(since=0.0) == ()
    assert len(await journal.spent(run_id="r-1")) == 2
    assert await journal.find_scored(a_key()) == a_record("a-1")
    await attempt(journal, "a-2", trial=1)
    assert len(await journal.spent(since=0.0)) == 1
    await journal.close()


def _age(path: Path) -> None:
    """Make it a file of the first version."""
    db = sqlite3.connect(path, isolation_level=None)
    for statement in (
        "DROP INDEX attempts_by_time",
        "DROP INDEX replies_by_time",
        "ALTER TABLE attempts DROP COLUMN planned_at",
        "ALTER TABLE attempts DROP COLUMN finished_at",
        "ALTER TABLE replies DROP COLUMN saved_at",
        "DROP TABLE spans",
        "PRAGMA user_version = 1",
    ):
        db.execute(statement)
    db.close()
    assert len(MIGRATIONS) > 1
