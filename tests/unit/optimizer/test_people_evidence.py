"""A person's no holds until the evidence changes; a run keeps to what it knew when it began."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from daemon.config_train import TrainSection
from daemon.journal.records import RunRecord
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.people import PEOPLE, People, TakenBack
from daemon.optimizer.refusals import Refusals
from daemon.tasks.task import Task
from harnesses.models.client import ModelRequest
from skills_repo.edits import Edit, EditLimits, Op, apply
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import EditCommit
from skills_repo.likeness import changes
from skills_repo.rejected_fake import FakeRejectedEdits
from tests.support.optimizer import (
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    make_task,
    reflection,
    sensible,
    task_set,
)

RULE = "- Round all amounts to two decimals (rule-a)."
PARAPHRASE = "- All amounts are rounded to 2 decimals (rule-a)."
WHY = "Our ledger keeps four decimals."
LIMITS = EditLimits(4)


async def closed(history: FakeSkillRepository, *commits: str) -> FakeRejectedEdits:
    """The store after a person closed a request with these commits."""
    kept = FakeRejectedEdits(history)
    await kept.keep_commits("request-7", commits, reason=WHY, when=1.0)
    return kept


def proposing(content: str) -> ScriptedOptimizer:
    def reply(request: ModelRequest) -> Any:
        return reflection(edit(content)) if request.schema_name == "reflect_failures" else sensible(request)

    return ScriptedOptimizer(reply)


def world(folder: Path, content: str = RULE) -> World:
    needs = {f"{split}-0{i}": ["rule-a"] for split in ("train", "selection", "test") for i in range(4)}
    made = World(folder, WorldHarness(needs), task_set(4, 4, 4), client=proposing(content))
    made.train = TrainSection(gate="strict", epochs=1, batch=4, minibatch=4)
    return made


async def trained(folder: Path) -> tuple[World, FakeSkillRepository, str]:
    made = world(folder)
    [commit] = (await made.training().run()).commits
    assert isinstance(made.history, FakeSkillRepository)
    return made, made.history, commit


async def known(made: World, run: str, train: tuple[Task, ...] | None = None, **kept: Any) -> tuple[TakenBack, ...]:
    """What a run that begins now knows."""
    if run not in {one.run_id for one in await made.journal.find_runs()}:
        await made.journal.open_run(RunRecord(run, run, "skills/demo", await made.history.base(), "open", 1.0))
    [record] = [one for one in await made.journal.find_runs() if one.run_id == run]
    people = People(made.journal, made.history, Firewall.of(made.tasks), **kept)
    return await people.of(record, made.tasks.split("train") if train is None else train)


async def revert(history: FakeSkillRepository, commit: str) -> str:
    before = (await history.read((await history.commit(commit)).parents[0])).files
    return history.human_commit(before, f'Revert "x"\n\nThis reverts commit {commit}.\n\n{WHY}\n')


async def test_a_paraphrase_of_a_reverted_edit_is_refused_with_the_reason(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    await revert(history, commit)
    made.client = proposing(PARAPHRASE)
    report = await made.training().run()
    assert report.commits == ()
    assert [row.reason for row in report.steps[0].refused] == [f"a person took it back: {WHY}"]


async def test_deleting_what_an_edit_wrote_is_taking_it_back_and_rewording_it_is_not(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    text = (await history.read(commit)).text
    history.human_commit({"SKILL.md": text.replace(RULE, PARAPHRASE).encode()}, "Say it better")
    assert await known(made, "r-reworded") == ()
    history.move_branch(commit)
    history.human_commit({"SKILL.md": text.replace(RULE + "\n", "").encode()}, f"No rounding\n\n{WHY}")
    [one] = await known(made, "r-deleted")
    assert (one.commit, one.reason) == (commit, f"No rounding {WHY}")
    assert (await made.training().run()).commits == ()


async def test_a_request_that_was_closed_is_refused_like_a_revert_unless_it_was_taken_in_all_the_same(
    tmp_path: Path,
) -> None:
    made, history, commit = await trained(tmp_path)
    base = (await history.commit(commit)).parents[0]
    history.move_branch(base)
    by_gate = FakeRejectedEdits(history)
    change = EditCommit(await history.read(commit), history.message(commit))
    await by_gate.keep("r-1.1", base, (change,), by="gate", when=1.0)
    assert await known(made, "r-gate", rejected=by_gate) == (), "what the gate rejected is its own affair"
    kept = await closed(history, commit)
    [one] = await known(made, "r-closed", rejected=kept)
    assert (one.commit, one.reason, one.by) == (commit, WHY, "")
    refusals = Refusals(Firewall.of(made.tasks), repeats=False, taken_back=(one,))
    skill = await history.read(base)
    told = refusals.edit(Edit(Op.APPEND, content=PARAPHRASE), skill, LIMITS, set())
    assert told == f"a person took it back: {WHY}"
    history.move_head(commit)
    assert await known(made, "r-merged", rejected=kept) == ()


async def test_a_run_keeps_to_what_it_knew_when_it_began(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    assert await known(made, "r-first") == ()
    await revert(history, commit)
    assert await known(made, "r-first", rejected=await closed(history, commit)) == ()
    assert len(await known(made, "r-second")) == 1


async def test_a_new_task_that_asks_for_it_lets_it_be_tried_again(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    await revert(history, commit)
    old = made.tasks.split("train")
    [first] = await known(made, "r-first")
    assert first.fresh == ()
    assert (await known(made, "r-scorer", (replace(old[0], digest="sha256:other"), *old[1:])))[0].fresh == ()
    changed = replace(old[0], prompt="Do something else.")
    [later] = await known(made, "r-later", (changed, *old[1:], make_task("train-new")))
    assert later.fresh == (changed.id, "train-new")
    [same] = await known(made, "r-same")
    assert same.fresh == ()
    skill = await history.read(await history.base())
    refusals = Refusals(Firewall.of(made.tasks), taken_back=(later,))
    for evidence, refused in (((), True), ((old[1].id,), True), ((old[1].id, "train-new"), False)):
        for content in (RULE, PARAPHRASE):
            proposed = Edit(Op.APPEND, content=content, evidence=evidence)
            assert bool(refusals.edit(proposed, skill, LIMITS, set())) is refused, (evidence, content)


async def test_guidance_that_was_taken_back_is_refused_and_notes_may_speak_of_it(tmp_path: Path) -> None:
    made = world(tmp_path)
    skill = make_skill("- x")
    limits = EditLimits(1, also=frozenset({Op.SLOW_UPDATE}))
    refusals = Refusals(Firewall.of(made.tasks))
    text = "Round every amount to two decimals before comparing."
    assert refusals.guidance(text, skill) == ""
    guided = apply(skill, [Edit(Op.SLOW_UPDATE, content=text)], limits).result
    one = TakenBack(
        key="k", edit=Edit(Op.SLOW_UPDATE, content=text), changes=changes(skill, guided), reason=WHY, commit="c"
    )
    refusals = replace(refusals, taken_back=(one,))
    assert refusals.guidance("Before comparing, round every amount to 2 decimals.", skill).endswith(WHY)
    assert refusals.guidance("Read the task once more.", skill) == ""
    assert refusals.notes(text, skill) == ""


async def test_a_reason_that_quotes_a_held_out_task_or_a_secret_goes_no_further(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    held = made.tasks.split("selection")[0]
    before = (await history.read((await history.commit(commit)).parents[0])).files
    reason = f"It breaks {held.answer} and sk-ant-api03-{'a' * 40}."
    history.human_commit(before, f'Revert "x"\n\nThis reverts commit {commit}.\n\n{reason}\n')
    [one] = await known(made, "r-1")
    assert held.answer is not None
    assert held.answer not in one.reason
    assert "sk-ant" not in one.reason
    found = await made.journal.find_decision("r-1", 0, PEOPLE)
    assert found is not None
    assert "sk-ant" not in str(found.payload)
