"""Which run is worked on: resumed, begun, or begun anew because somebody moved on."""

from __future__ import annotations

import re

import structlog

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.opening import Opening, run_id
from daemon.optimizer.settings import Fingerprint
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, EditCommit
from tests.support.optimizer import make_skill

NAMED = Author("honed", "honed@localhost")
F1, F2 = Fingerprint({"train.seed": "1", "harness": "chat"}), Fingerprint({"train.seed": "2", "harness": "chat"})


def made() -> tuple[Opening, MemoryJournal, FakeSkillRepository]:
    journal, history = MemoryJournal(), FakeSkillRepository(make_skill(), author=NAMED)
    return Opening(journal, history, "skills/demo", lambda: 5.0), journal, history


async def commit(history: FakeSkillRepository, run: str, step: int) -> str:
    message = f"Edit\n\nHoned-Run: {run}\nHoned-Step: {step}.1/1\n"
    change = EditCommit(make_skill(f"step {step}"), message)
    return (await history.commit_edits(await history.base(), [change], 1.0))[-1]


def accepted(step: int) -> dict[str, str]:
    """What a decision says of the skill that `commit` makes."""
    return {"outcome": "accepted", "candidate_digest": make_skill(f"step {step}").digest}


async def test_the_same_start_has_the_same_id_and_another_has_another() -> None:
    first, second = made(), made()
    opened = await first[0].open(F1)
    assert opened.run.run_id == (await second[0].open(F1)).run.run_id
    assert re.fullmatch(r"r[0-9a-f]{12}", opened.run.run_id)
    assert not opened.resumed
    assert (await first[0].open(F2)).run.run_id != opened.run.run_id


async def test_an_open_run_is_resumed_and_an_ended_one_is_followed_by_the_next() -> None:
    opening, journal, _ = made()
    first = await opening.open(F1)
    again = await opening.open(F1)
    assert (again.run, again.resumed) == (first.run, True)
    await journal.end_run(first.run.run_id, "done")
    second = await opening.open(F1)
    assert not second.resumed
    assert second.run.run_id == run_id(F1.digest, first.run.base_commit, 1)


async def test_a_run_is_resumed_on_top_of_its_own_commits() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    await commit(history, run.run_id, 1)
    await journal.save_decision(Decision(run.run_id, 1, "step", accepted(1)))
    again = await opening.open(F1)
    assert (again.run.run_id, again.resumed) == (run.run_id, True)
    await journal.save_decision(Decision(run.run_id, 2, "step", accepted(2)))  # not committed yet
    assert (await opening.open(F1)).resumed


async def test_commits_that_a_person_took_off_the_branch_are_not_put_back() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    sha = await commit(history, run.run_id, 1)
    await journal.save_decision(Decision(run.run_id, 1, "step", accepted(1)))
    history.move_branch(run.base_commit)  # before the commits were noted it could be a crash: the run makes them
    assert (await opening.open(F1)).resumed
    await journal.save_decision(Decision(run.run_id, 1, "commits", {"commits": [sha]}))
    opened = await opening.open(F1)
    assert (opened.resumed, opened.run.base_commit) == (False, run.base_commit)


async def test_a_person_who_changed_the_skill_begins_a_new_run() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    head = history.human_commit(make_skill("mine").files, "Mine")
    opened = await opening.open(F1)
    assert (opened.resumed, opened.run.base_commit) == (False, head)
    assert [r.state for r in await journal.find_runs() if r.run_id == run.run_id] == ["failed"]


async def test_so_does_a_person_who_changed_it_after_the_runs_commits() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    await commit(history, run.run_id, 1)
    await journal.save_decision(Decision(run.run_id, 1, "step", accepted(1)))
    history.human_commit(make_skill("mine").files, "Mine")
    assert not (await opening.open(F1)).resumed


async def test_a_commit_that_leaves_the_skill_alone_does_not() -> None:
    opening, _, history = made()
    run = (await opening.open(F1)).run
    head = history.human_commit(make_skill().files, "Something else")
    again = await opening.open(F1)
    assert (again.run.run_id, again.resumed) == (run.run_id, True)
    assert again.head == head  # and the next commit goes on top of it


async def test_another_fingerprint_is_said_with_what_differs() -> None:
    opening, journal, _ = made()
    first = (await opening.open(F1)).run
    payload = {"fingerprint": dict(F1.parts)}
    await journal.save_decision(Decision(first.run_id, 0, "baseline", payload))
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as logs:
        second = await opening.open(F2)
    assert not second.resumed
    assert [(row["log_level"], row["run"], row["changed"]) for row in logs] == [
        ("warning", first.run_id, ["train.seed"])
    ]
    assert (await opening.open(F1)).resumed  # whoever changes back goes on


async def test_nothing_is_said_where_nothing_is_unfinished() -> None:
    opening, journal, _ = made()
    await journal.end_run((await opening.open(F1)).run.run_id, "done")
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as logs:
        await opening.open(F2)
    assert logs == []


async def test_a_commit_beside_the_skill_on_top_of_the_runs_own_does_not_end_it() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    await commit(history, run.run_id, 1)
    await journal.save_decision(Decision(run.run_id, 1, "step", accepted(1)))
    head = history.human_commit(make_skill("step 1").files, "Mend the README")
    again = await opening.open(F1)
    assert (again.run.run_id, again.resumed, again.head) == (run.run_id, True, head)


async def test_a_person_who_amends_a_commit_of_the_run_begins_a_new_one() -> None:
    """The trailers are the run's still, what it holds is not: the next step would take the amendment back."""
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    sha = await commit(history, run.run_id, 1)
    await journal.save_decision(Decision(run.run_id, 1, "step", accepted(1)))
    await journal.save_decision(Decision(run.run_id, 1, "commits", {"commits": [sha]}))
    history.move_branch(run.base_commit)
    head = history.human_commit(make_skill("step 1", "amended").files, history.message(sha))
    opened = await opening.open(F1)
    assert (opened.resumed, opened.run.base_commit) == (False, head)


async def test_an_accepted_slow_update_is_what_the_branch_has_to_hold() -> None:
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    await commit(history, run.run_id, 2)
    await journal.save_decision(Decision(run.run_id, 2, "step", accepted(2)))
    message = f"Edit\n\nHoned-Run: {run.run_id}\nHoned-Step: 2.1/1\nHoned-Phase: slow_update\n"
    change = EditCommit(make_skill("step 2", "guided"), message)
    await history.commit_edits(await history.base(), [change], 1.0)
    assert not (await opening.open(F1)).resumed  # nobody decided that
    opening, journal, history = made()
    run = (await opening.open(F1)).run
    await commit(history, run.run_id, 2)
    await journal.save_decision(Decision(run.run_id, 2, "step", accepted(2)))
    await history.commit_edits(await history.base(), [change], 1.0)
    digest = make_skill("step 2", "guided").digest
    payload = {"outcome": "accepted", "candidate_digest": digest}
    await journal.save_decision(Decision(run.run_id, 2, "slow_update", payload))
    assert (await opening.open(F1)).resumed


async def test_a_run_whose_start_is_not_in_the_repository_is_followed_by_a_new_one() -> None:
    opening, journal, history = made()
    elsewhere = "0" * 40  # the state folder came with another clone, or git has cleared the commit away
    await journal.open_run(RunRecord("r-old", F1.digest, "skills/demo", elsewhere, "open", 1.0))
    opened = await opening.open(F1)
    assert (opened.resumed, opened.run.base_commit) == (False, await history.base())
    assert {run.run_id: run.state for run in await journal.find_runs("skills/demo")}["r-old"] == "failed"


async def test_a_run_rebuilt_from_git_keeps_its_id_to_itself() -> None:
    """Its fingerprint is lost with the journal, its id is not."""
    opening, journal, history = made()
    base = await history.base()
    lost = RunRecord(run_id(F1.digest, base, 0), "rebuilt", "skills/demo", base, "open", 1.0)
    await journal.open_run(lost)
    await journal.end_run(lost.run_id, "done")
    opened = await opening.open(F1)
    assert (opened.resumed, opened.run.run_id) == (False, run_id(F1.digest, base, 1))
