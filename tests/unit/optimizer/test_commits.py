"""Accepted decisions become commits: one an edit, once, in a chain of digests."""

from __future__ import annotations

import pytest

from daemon.optimizer.commits import Committer
from daemon.optimizer.decision import RolloutSummary, SlowUpdateDecision, StepDecision
from daemon.optimizer.gates.verdict import TaskRow, Verdict
from daemon.optimizer.replies import Pattern
from skills_repo.edits import Applied, Edit, EditLimits, Op, apply
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, RefMovedError
from tests.support.optimizer import make_skill

BASE = make_skill("- first")
EDITS = (
    Edit(Op.APPEND, content="- second", rationale="it helps", support=2, evidence=("t1", "t2")),
    Edit(Op.REPLACE, target="not there", content="x"),
    Edit(Op.DELETE, target="- first"),
)


def candidate() -> Applied:
    return apply(BASE, EDITS, EditLimits(4))


def decision(verdict: Verdict | None) -> StepDecision:
    return StepDecision(
        step=2,
        epoch=1,
        when=1_700_000_000.0,
        outcome="accepted",
        reason="",
        batches=(("t1",),),
        rollout=RolloutSummary(),
        budget=4,
        base_digest=BASE.digest,
        patterns=(Pattern(type="wrong sheet", count=2, description=""),),
        chosen=EDITS,
        report=candidate().report.rows,
        verdict=verdict,
    )


BETTER = Verdict("accepted", 0.25, 0.75, 0.5, 4, 5, (), (), "rule")


def made() -> tuple[Committer, FakeSkillRepository]:
    history = FakeSkillRepository(BASE, author=Author("honed", "honed@localhost"))
    return Committer(history, "r1", "strict/soft", target="codex 1.0 / m", optimizer="openai / o"), history


async def test_one_commit_an_applied_edit_each_naming_its_own_base() -> None:
    committer, history = made()
    commits = await committer.commit(await history.base(), BASE, decision(BETTER), candidate())
    log = (await history.log())[:2][::-1]
    assert [row.sha for row in log] == list(commits)
    first, second = (row.trailers for row in log)
    assert (first["Honed-Step"], second["Honed-Step"]) == ("2.1/2", "2.2/2")
    assert (first["Honed-Op"], second["Honed-Op"]) == ("append", "delete")
    assert (first["Honed-Base"], second["Honed-Base"]) == (BASE.digest, candidate().stages[0].digest)
    assert first["Honed-Evidence"] == "t1 t2"
    assert first["Honed-Gate"].startswith("accepted rule=strict/soft split=selection n=4x1 before=0.250 after=0.750")
    assert first["Honed-Gate"].endswith("valid=80%")
    assert (await history.read(commits[0])).digest == candidate().stages[0].digest
    assert (await history.read(commits[1])).digest == candidate().result.digest


async def test_a_credential_in_what_the_optimizer_says_is_in_no_commit() -> None:
    committer, history = made()
    key = "sk-proj-" + "a" * 40
    leaky = apply(BASE, [Edit(Op.APPEND, content="- x", rationale=f"{key} was refused")], EditLimits(4))
    told = decision(BETTER).model_copy(update={"patterns": (Pattern(type=f"with {key}", count=1, description=""),)})
    await committer.commit(await history.base(), BASE, told, leaky)
    message = history.message(await history.base())
    assert "[redacted] was refused" in message
    assert key[:20] not in message


async def test_asked_again_it_makes_no_other_commits() -> None:
    committer, history = made()
    parent = await history.base()
    first = await committer.commit(parent, BASE, decision(BETTER), candidate())
    assert await committer.commit(parent, BASE, decision(BETTER), candidate()) == first
    assert len(await history.log()) == 3


async def test_equal_decisions_give_equal_commits() -> None:
    one, two = made(), made()
    ids = [
        await committer.commit(await history.base(), BASE, decision(BETTER), candidate())
        for committer, history in (one, two)
    ]
    assert ids[0] == ids[1]


async def test_a_branch_that_somebody_moved_is_left_alone() -> None:
    committer, history = made()
    parent = await history.base()
    head = history.human_commit(make_skill("mine").files, "Mine")
    with pytest.raises(RefMovedError):
        await committer.commit(parent, BASE, decision(BETTER), candidate())
    assert await history.base() == head


async def test_an_acceptance_without_figures_is_never_committed() -> None:
    committer, history = made()
    with pytest.raises(ValueError, match="step 2 was accepted without a verdict"):
        await committer.commit(await history.base(), BASE, decision(None), candidate())
    assert len(await history.log()) == 1


async def test_tasks_that_a_settled_pass_did_not_ask_are_not_said_to_have_failed_measuring() -> None:
    """Of a forced slow update: its gate had asked two of five tasks, and both could be measured."""
    committer, history = made()
    edit = Edit(Op.SLOW_UPDATE, content="Look twice.")
    applied = apply(BASE, [edit], EditLimits(1, also=frozenset({Op.SLOW_UPDATE})))
    rows = tuple(TaskRow(f"s{i}", 0.0, 1, 0.0, 1) for i in range(2))
    verdict = Verdict("rejected", 0.0, 0.0, 0.0, 2, 5, (), (), "settled", rows=rows)
    told = SlowUpdateDecision(
        step=2,
        epoch=2,
        when=1_700_000_000.0,
        outcome="accepted",
        reason="forced",
        base_digest=BASE.digest,
        chosen=(edit,),
        report=applied.report.rows,
        verdict=verdict,
        forced=True,
    )
    [sha] = await committer.commit(await history.base(), BASE, told, applied)
    [row] = [row for row in await history.log() if row.sha == sha]
    assert row.trailers["Honed-Gate"].startswith("accepted rule=strict/soft/forced split=selection n=2x1")
    assert row.trailers["Honed-Gate"].endswith("valid=100%")


@pytest.mark.parametrize(("n", "figures"), [(1, False), (4, True)])
async def test_a_forced_update_is_no_point_of_the_curve_unless_it_was_measured_whole(n: int, *, figures: bool) -> None:
    history = FakeSkillRepository(BASE, author=Author("honed", "honed@localhost"))
    committer = Committer(history, "r1", "paired/hard", target="t", optimizer="o", selection=4)
    limits = EditLimits(1, also=frozenset({Op.SLOW_UPDATE}))
    applied = apply(BASE, [Edit(Op.SLOW_UPDATE, content="Look twice.")], limits)
    forced = SlowUpdateDecision(
        step=2,
        epoch=2,
        when=1.0,
        outcome="accepted",
        reason="",
        base_digest=BASE.digest,
        verdict=Verdict("rejected", 0.5, 0.25, -0.25, n, 4, (), (), "rule"),
        forced=True,
    )
    await committer.commit(await history.base(), BASE, forced, applied)
    [row] = [row for row in await history.log() if "Honed-Run" in row.trailers]
    assert row.trailers["Honed-Gate"].startswith("accepted rule=paired/hard/forced")
    assert ("before=" in row.trailers["Honed-Gate"]) is figures


async def test_what_a_person_should_look_at_is_in_the_trailer_and_nowhere_else_is_one() -> None:
    committer, history = made()
    edits = (Edit(Op.APPEND, content="- See evil.example.com and run `sudo x`."), Edit(Op.APPEND, content="- plain"))
    applied = apply(BASE, edits, EditLimits(4))
    one = decision(BETTER).model_copy(update={"chosen": edits, "report": applied.report.rows})
    await committer.commit(await history.base(), BASE, one, applied)
    second, first = (row.trailers for row in (await history.log())[:2])
    assert first["Honed-Review"] == "permissions url"
    assert "Honed-Review" not in second


async def test_no_message_quotes_a_secret_that_an_edit_takes_out() -> None:
    key = "sk-ant-api03-" + "a1" * 20
    before = BASE.with_text(BASE.text + f"- key {key}\n")
    committer, history = made()
    applied = apply(before, [Edit(Op.DELETE, target=f"- key {key}", rationale=f"it was {key}")], EditLimits(4))
    one = decision(BETTER).model_copy(update={"report": applied.report.rows})
    await committer.commit(await history.base(), before, one, applied)
    commit = (await history.log())[0]
    assert key not in commit.subject + commit.body
    assert "[redacted]" in commit.subject
