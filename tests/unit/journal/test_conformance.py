"""One suite for every journal: what the optimizer may rely on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from daemon.journal.journal import Journal, JournalError
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.journal.sqlite import SqliteJournal
from tests.support.journal import a_key, a_record, a_run, an_invalid


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "state" / "journal.db")
    yield made
    await made.close()


async def test_an_open_run_is_found_by_skill_and_fingerprint(journal: Journal) -> None:
    await journal.open_run(a_run("r-1"))
    assert await journal.find_open_run("xlsx", "f-1") == a_run("r-1")
    assert await journal.find_open_run("xlsx", "f-2") is None
    assert await journal.find_open_run("docx", "f-1") is None


async def test_the_newest_open_run_is_resumed_whatever_the_clock_said(journal: Journal) -> None:
    await journal.open_run(a_run("r-1", started=9.0))
    await journal.open_run(a_run("r-2", started=1.0))
    found = await journal.find_open_run("xlsx", "f-1")
    assert found is not None
    assert found.run_id == "r-2"


@pytest.mark.parametrize("state", ["done", "failed"])
async def test_an_ended_run_is_not_resumed_but_listed(journal: Journal, state: str) -> None:
    await journal.open_run(a_run())
    await journal.end_run("r-1", state)
    await journal.end_run("r-1", state)
    assert await journal.find_open_run("xlsx", "f-1") is None
    assert await journal.find_runs() == (replace(a_run(), state=state),)


async def test_runs_are_listed_oldest_first_and_by_skill(journal: Journal) -> None:
    for run_id, skill in (("r-9", "xlsx"), ("r-1", "docx"), ("r-5", "xlsx")):
        await journal.open_run(a_run(run_id, skill=skill))
    assert [run.run_id for run in await journal.find_runs()] == ["r-9", "r-1", "r-5"]
    assert [run.run_id for run in await journal.find_runs("xlsx")] == ["r-9", "r-5"]
    assert await journal.find_runs("none") == ()


async def test_run_states_are_guarded(journal: Journal) -> None:
    await journal.open_run(a_run())
    with pytest.raises(JournalError, match="r-1 is in the journal already"):
        await journal.open_run(a_run())
    with pytest.raises(JournalError, match="starts as 'done'"):
        await journal.open_run(replace(a_run("r-2"), state="done"))
    with pytest.raises(JournalError, match="not as 'open'"):
        await journal.end_run("r-1", "open")
    with pytest.raises(JournalError, match="r-7 is not in the journal"):
        await journal.end_run("r-7", "done")
    await journal.end_run("r-1", "done")
    with pytest.raises(JournalError, match="ended already"):
        await journal.end_run("r-1", "failed")


async def test_an_attempt_is_unfinished_until_it_is_finished(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key(trial=1))
    assert await journal.unfinished_attempts() == ("a-2", "a-1")
    assert await journal.find_scored(a_key()) is None
    await journal.finish_attempt(a_record("a-2"))
    assert await journal.unfinished_attempts() == ("a-1",)
    assert await journal.find_scored(a_key()) == a_record("a-2")
    assert await journal.find_scored(a_key(trial=1)) is None


async def test_unfinished_attempts_of_ended_runs_are_told_apart(journal: Journal) -> None:
    for name in ("1", "2"):
        await journal.open_run(a_run(f"r-{name}"))
        await journal.plan_attempt(f"a-{name}", f"r-{name}", "t-1", a_key(trial=int(name)))
    assert await journal.unfinished_attempts(of_ended_runs=True) == ()
    await journal.end_run("r-1", "failed")
    assert await journal.unfinished_attempts(of_ended_runs=True) == ("a-1",)
    assert await journal.unfinished_attempts() == ("a-1", "a-2")


async def test_a_scored_attempt_is_found_across_runs(journal: Journal) -> None:
    await journal.open_run(a_run("r-1"))
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1"))
    await journal.end_run("r-1", "failed")
    await journal.open_run(a_run("r-2"))
    assert await journal.find_scored(a_key()) == a_record("a-1")
    assert await journal.attempts("r-2") == ()


async def test_the_key_is_content_not_the_order_of_settings(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1"))
    turned = replace(a_key(), settings={"version": "1", "model": "m"})
    assert await journal.find_scored(turned) == a_record("a-1")
    assert await journal.find_scored(replace(a_key(), settings={"model": "m", "version": "2"})) is None


async def test_an_invalid_attempt_is_kept_but_never_found(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(an_invalid("a-1"))
    assert await journal.find_scored(a_key()) is None
    assert await journal.attempts("r-1") == (an_invalid("a-1"),)
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-2"))
    assert await journal.find_scored(a_key()) == a_record("a-2")


async def test_the_same_key_twice_gives_the_one_finished_first(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.plan_attempt("a-2", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-2", score=0.5))
    await journal.finish_attempt(a_record("a-1", score=0.75))
    found = await journal.find_scored(a_key())
    assert found is not None
    assert (found.attempt_id, found.score) == ("a-2", 0.5)
    assert [record.attempt_id for record in await journal.attempts("r-1")] == ["a-1", "a-2"]


async def test_finishing_again_is_no_error_only_if_it_says_the_same(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1"))
    await journal.finish_attempt(a_record("a-1"))
    with pytest.raises(JournalError, match="a-1 is in the journal already and differs"):
        await journal.finish_attempt(a_record("a-1", score=1.0, hard=True))
    assert await journal.attempts("r-1") == (a_record("a-1"),)


async def test_attempts_must_be_planned_as_they_are_finished(journal: Journal) -> None:
    await journal.open_run(a_run())
    with pytest.raises(JournalError, match="a-1 is not planned"):
        await journal.finish_attempt(a_record("a-1"))
    with pytest.raises(JournalError, match="run r-2 is not in the journal"):
        await journal.plan_attempt("a-1", "r-2", "t-1", a_key())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    with pytest.raises(JournalError, match="a-1 is in the journal already"):
        await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    with pytest.raises(JournalError, match="another key"):
        await journal.finish_attempt(a_record("a-1", a_key("t-2")))
    with pytest.raises(JournalError, match="another task"):
        await journal.finish_attempt(a_record("a-1", task_id="t-2"))
    assert await journal.unfinished_attempts() == ("a-1",)


async def test_abandoned_attempts_are_gone_and_may_be_run_anew(journal: Journal) -> None:
    await journal.open_run(a_run())
    for attempt_id in ("a-1", "a-2", "a-3"):
        await journal.plan_attempt(attempt_id, "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1"))
    await journal.abandon_attempts(("a-1", "a-2", "a-unknown"))
    assert await journal.unfinished_attempts() == ("a-3",)
    assert await journal.find_scored(a_key()) == a_record("a-1")
    with pytest.raises(JournalError, match="a-2 is abandoned"):
        await journal.finish_attempt(a_record("a-2"))
    await journal.plan_attempt("a-4", "r-1", "t-1", a_key())
    assert await journal.unfinished_attempts() == ("a-3", "a-4")


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -0.01, 1.01])
async def test_what_is_no_score_is_refused_and_nothing_is_written(journal: Journal, score: float) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    with pytest.raises(JournalError, match=r"not one in 0\.\.1"):
        await journal.finish_attempt(a_record("a-1", score=score))
    with pytest.raises(JournalError, match="both score and hard"):
        await journal.finish_attempt(a_record("a-1", score=None))
    with pytest.raises(JournalError, match="cannot be written"):
        await journal.finish_attempt(a_record("a-1", usage={"usd": float("nan")}))
    assert await journal.unfinished_attempts() == ("a-1",)


async def test_read_only_mappings_are_written_as_objects(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.plan_attempt("a-1", "r-1", "t-1", a_key())
    await journal.finish_attempt(a_record("a-1", usage=MappingProxyType({"deep": MappingProxyType({"n": 1})})))
    assert (await journal.attempts("r-1"))[0].usage == {"deep": {"n": 1}}


async def test_a_reply_is_found_at_its_place_to_its_prompt_only(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.save_reply("r-1", "3/reflect/0", "sha256:p", {"edits": [{"op": "append"}], "n": None})
    assert await journal.find_reply("r-1", "3/reflect/0", "sha256:p") == {"edits": [{"op": "append"}], "n": None}
    assert await journal.find_reply("r-1", "3/reflect/1", "sha256:p") is None
    assert await journal.find_reply("r-1", "3/reflect/0", "sha256:q") is None
    assert await journal.find_reply("r-2", "3/reflect/0", "sha256:p") is None


async def test_a_paid_reply_is_never_overwritten(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.save_reply("r-1", "3/merge/0", "sha256:p", {"b": 1, "a": 2})
    await journal.save_reply("r-1", "3/merge/0", "sha256:p", {"a": 2, "b": 1})
    await journal.save_reply("r-1", "3/merge/0", "sha256:q", {"a": 3})
    with pytest.raises(JournalError, match="the reply at 3/merge/0 is in the journal already and differs"):
        await journal.save_reply("r-1", "3/merge/0", "sha256:p", {"a": 9})
    assert await journal.find_reply("r-1", "3/merge/0", "sha256:p") == {"a": 2, "b": 1}


async def test_decisions_come_by_step_and_are_never_changed(journal: Journal) -> None:
    await journal.open_run(a_run())
    await journal.save_decision(Decision("r-1", 10, "step", {"accepted": False, "delta": 0.1}))
    await journal.save_decision(Decision("r-1", 2, "step", {"edits": ("a", "b")}))
    await journal.save_decision(Decision("r-1", 0, "baseline", {}))
    await journal.save_decision(Decision("r-1", 2, "slow", {}))
    assert [(row.step, row.kind) for row in await journal.decisions("r-1")] == [
        (0, "baseline"),
        (2, "step"),
        (2, "slow"),
        (10, "step"),
    ]
    assert await journal.find_decision("r-1", 2, "step") == Decision("r-1", 2, "step", {"edits": ["a", "b"]})
    assert await journal.find_decision("r-1", 2, "final") is None
    await journal.save_decision(Decision("r-1", 10, "step", {"delta": 0.1, "accepted": False}))
    with pytest.raises(JournalError, match="decision 'step' of step 10"):
        await journal.save_decision(Decision("r-1", 10, "step", {"accepted": True, "delta": 0.1}))


async def test_rows_need_their_run(journal: Journal) -> None:
    with pytest.raises(JournalError, match="run r-1 is not in the journal"):
        await journal.save_reply("r-1", "p", "d", {})
    with pytest.raises(JournalError, match="run r-1 is not in the journal"):
        await journal.save_decision(Decision("r-1", 0, "baseline", {}))


async def test_a_closed_journal_says_so(journal: Journal) -> None:
    await journal.close()
    await journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.find_runs()
    with pytest.raises(JournalError, match="closed"):
        await journal.open_run(a_run())
