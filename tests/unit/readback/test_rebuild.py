"""A lost journal out of git: what a training's commits tell comes back as the journal had it, and no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from daemon.cli.show_run import render_run
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.scoring_run import trains
from daemon.readback.rebuild import LOST, REBUILT, Rebuilder, RebuiltRun
from daemon.readback.run import RunView, read_run
from skills_repo.edits import Edit, Op
from skills_repo.fake import FakeSkillRepository
from tests.support.history import change, step_message, with_lines
from tests.support.readback import KNOBS, drawn, trained, world
from tests.support.skills import HONED


async def rebuilt_view(found: RebuiltRun) -> RunView:
    """What `honed show` reads of it."""
    journal = MemoryJournal()
    await journal.open_run(replace(found.run, state="open"))
    for decision in found.decisions:
        await journal.save_decision(decision)
    await journal.end_run(found.run.run_id, found.run.state)
    [run] = await journal.find_runs()
    return await read_run(journal, run)


async def test_the_accepted_steps_of_a_real_training_come_back(tmp_path: Path) -> None:
    made = world(tmp_path, train=KNOBS.model_copy(update={"epochs": 2, "slow_update": "forced"}))
    was = await trained(made)
    accepted = [step for step in was.steps if step.outcome == "accepted"]
    assert accepted, "the training must keep something"
    [found] = await Rebuilder(made.history, "skills/demo").runs(1_000)
    now = await rebuilt_view(found)
    assert (now.run.run_id, now.run.skill, now.run.base_commit) == (was.run.run_id, "skills/demo", was.run.base_commit)
    assert (now.run.state, now.run.fingerprint, trains(now.run)) == ("done", REBUILT, True)
    assert [step.step for step in now.steps] == [step.step for step in accepted]
    assert now.commits == was.commits
    assert now.slow_commits == was.slow_commits
    for old, new in zip(accepted, now.steps, strict=True):
        assert (new.outcome, new.base_digest, new.candidate_digest) == (
            "accepted",
            old.base_digest,
            old.candidate_digest,
        )
        assert [(edit.op, edit.content) for edit in new.applied] == [(edit.op, edit.content) for edit in old.applied]
        assert [edit.evidence for edit in new.applied] == [edit.evidence for edit in old.applied]
        assert old.verdict is not None
        assert new.verdict is not None
        assert (new.verdict.n, new.verdict.of) == (old.verdict.n, old.verdict.of)
        for name in ("before", "after"):
            assert abs(getattr(new.verdict, name) - getattr(old.verdict, name)) < 0.001
    assert [update.step for update in now.slow_updates] == [
        update.step for update in was.slow_updates if update.outcome == "accepted"
    ]
    assert now.attempts == now.replies == ()


async def a_history() -> FakeSkillRepository:
    """A given start, a step of two edits of which one was reverted, a forced slow update, and a person."""
    rules = ("- one", "- two", "- three")
    history = FakeSkillRepository(with_lines(*rules), author=HONED)
    edit = Edit(Op.APPEND, content="- b", rationale="so", evidence=("t-1",))
    stages = [
        change(with_lines(*rules, "- given"), step_message("r-1", 0, before=None, phase="initial")),
        change(with_lines(*rules, "- given", "- a"), step_message("r-1", 1, position=1, of=2, base="sha256:one")),
        change(
            with_lines(*rules, "- given", "- a", "- b"),
            step_message("r-1", 1, position=2, of=2, edit=edit, failures=["empty cells"]),
        ),
    ]
    made = await history.commit_edits(await history.base(), stages, 1_000)
    history.human_commit(
        with_lines(*rules, "- given", "- b").files, f'Revert "a"\n\nThis reverts commit {made[1]}.\n\nNo.'
    )
    forced = step_message("r-1", 3, phase="slow_update").replace("paired/hard", "paired/hard/forced")
    await history.commit_edits(await history.base(), [change(with_lines("- slow"), forced)], 2_000)
    return history


async def test_starts_slow_updates_and_reverts_are_told(tmp_path: Path) -> None:
    history = await a_history()
    [found] = await Rebuilder(history, "skills/xlsx").runs(1_000)
    log = await history.log()
    start, first, second = log[4].sha, log[3].sha, log[2].sha
    assert [(decision.step, decision.kind) for decision in found.decisions] == [
        (0, REBUILT),
        (0, "baseline"),
        (1, "step"),
        (1, "commits"),
        (3, "slow_update"),
        (3, "slow_update_commits"),
    ]
    mark = found.decisions[0].payload
    assert mark["given_start"] == [start]
    assert mark["reverted"] == [{"commit": first, "by": log[1].sha, "reason": "No."}]
    assert (mark["target"], mark["optimizer"], mark["lost"]) == ("codex 1 / m", "openai / o", LOST)
    view = await rebuilt_view(found)
    assert view.commits == {1: (first, second)}
    [step], [update] = view.steps, view.slow_updates
    assert (step.base_digest, step.when, step.epoch, step.batches) == ("sha256:one", 1_000.0, 0, ())
    assert step.applied[1] == Edit(Op.APPEND, content="- b", rationale="so", evidence=("t-1",))
    assert step.notes[-1] == "failures that asked for it: empty cells"
    assert step.verdict is not None
    assert (step.verdict.standard_error, step.verdict.after_trials, step.verdict.delta) == (0.05, 3, 0.25)
    assert update.forced
    assert view.baseline is not None
    assert view.baseline.measured is not None
    assert (view.baseline.measured.score, view.baseline.measured.n) == (0.5, 12)
    assert view.fingerprint == {REBUILT: "from git", "target": "codex 1 / m"}


async def test_it_is_shown_as_rebuilt(tmp_path: Path) -> None:
    [found] = await Rebuilder(await a_history(), "skills/xlsx").runs(1_000)
    view = await rebuilt_view(found)
    out = drawn(lambda console: render_run(console, view))
    assert "rebuilt  from git" in out
    assert LOST[:40] in out


async def test_hostile_trailers_become_rows_or_nothing() -> None:
    history = FakeSkillRepository(with_lines("- one"), author=HONED)
    for number, trailers in enumerate(
        (
            "Honed-Run: r\nHoned-Step: 99999999999999999999.1/1",
            f"Honed-Run: r\nHoned-Step: {'9' * 5000}.1/1",
            "Honed-Run: evil\nHoned-Step: 1.1/1\nHoned-Phase: baseline\nHoned-Gate: rule=x before=9 after=nan n=1x",
            "Honed-Run: odd\x1b[31m\nHoned-Step: 999999999.1/1\nHoned-Gate: rule=x before=0.1 after=0.2 n=3x1 valid=0%",
            "Honed-Run: broken\nHoned-Step: 1.1/1",
        )
    ):
        text = with_lines(f"- {number}").files if number != 4 else {"SKILL.md": b"\xff"}
        history.human_commit(text, f"x\n\n{trailers}\n")
    found = await Rebuilder(history, "skills/xlsx").runs(1_000)
    assert [one.run.run_id for one in found] == ["evil", "odd\x1b[31m", "broken"]
    for one in found:
        await rebuilt_view(one)
    assert [decision.kind for decision in found[0].decisions] == [REBUILT]
    assert found[2].decisions[-2].payload["candidate_digest"] == ""


async def test_a_branch_without_honed_has_nothing_to_tell() -> None:
    history = FakeSkillRepository(with_lines("- one"), author=HONED)
    assert await Rebuilder(history, "skills/xlsx").runs(1_000) == ()
