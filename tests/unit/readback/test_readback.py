"""Everything that a run decided can be read back from its journal."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.show_data import run_data, step_data
from daemon.cli.show_run import render_run
from daemon.cli.show_step import render_step
from daemon.journal.journal import JournalError
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.decision import StepDecision
from daemon.optimizer.evaluate import evaluate
from daemon.optimizer.opening import FOLLOWED
from daemon.optimizer.people import PEOPLE, TakenBack
from daemon.readback.find import find_run
from daemon.readback.run import lenient, read_run
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from skills_repo.edits import Edit, Op
from skills_repo.followed import Again, Followed
from tests.support.journal import a_run
from tests.support.optimizer import ScriptedOptimizer, edit, make_skill, reflection, sensible
from tests.support.readback import KNOBS, drawn, step_of, trained, viewed, world


async def test_a_run_is_read_back_whole(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    assert view.baseline is not None
    assert view.baseline.measured is not None
    assert view.baseline.measured.of == 4
    assert [step.step for step in view.steps] == [1, 2]
    assert view.fingerprint["train.batch"] == "4"
    assert view.final is not None
    accepted = [step.step for step in view.steps if step.outcome == "accepted"]
    assert accepted
    assert sorted(view.commits) == accepted
    attempts = sum(made.harness.runs.values())
    assert sum(cost.attempts for cost in view.costs) == attempts
    assert sum(cost.usage.usd or 0 for cost in view.costs) == pytest.approx(
        attempts * 0.25 + len(made.client.requests) * 0.5
    )


async def test_costs_are_told_by_phase(tmp_path: Path) -> None:
    view = await trained(world(tmp_path))
    phases = [(cost.step, cost.phase, cost.attempts) for cost in view.costs if cost.attempts]
    assert phases == [
        (0, "baseline", 4),
        (1, "rollouts", 4),
        (1, "gate", 4),
        (2, "rollouts", 4),
        (2, "gate", 4),
        (0, "sealed test", 6),
    ]
    assert {cost.phase for cost in view.costs} >= {"optimizer: reflect"}


async def test_a_step_is_read_back_whole(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    step = await step_of(made, view, 1)
    assert [row.task for row in step.batch] == sorted(view.steps[0].batches[0])
    assert all(row.row is not None and row.row.record.hard is False for row in step.batch)
    assert not any(row.reused for row in step.batch)
    assert {task for one in step.reflections for task in one.tasks} == set(view.steps[0].batches[0])
    assert [one.place for one in step.reflections] == ["1/reflect/failures.0.0", "1/reflect/failures.0.1"]
    assert step.reflections[0].reply.reply["reply"]["edits"]
    assert [reply.place.split("/")[1] for reply in step.merges]
    assert step.commits == view.commits[1]
    assert step.buffer == ()


async def test_the_minibatches_are_those_that_were_reflected_on(tmp_path: Path) -> None:
    seen: list[str] = []

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name.startswith("reflect"):
            seen.append(request.messages[0].content)
        return sensible(request)

    made = world(tmp_path, client=ScriptedOptimizer(reply))
    view = await trained(made)
    step = await step_of(made, view, 1)
    for one in step.reflections:
        assert any(all(f'"{task}"' in prompt for task in one.tasks) for prompt in seen), one.tasks


async def test_a_paired_judgement_is_told_look_by_look_and_every_attempt_is_counted(tmp_path: Path) -> None:
    knobs = KNOBS.model_copy(update={"gate": "paired", "accumulation": 2, "batch": 2, "edit_budget": 4})
    made = world(tmp_path, train=knobs)
    view = await trained(made)
    assert view.baseline is not None
    assert view.baseline.pool.count > 1
    text = drawn(lambda console: render_run(console, view))
    assert f", {view.baseline.pool.count} trials a task" in text
    judged = next(step for step in view.steps if step.verdict is not None)
    assert judged.verdict is not None
    step = await step_of(made, view, judged.step)
    assert {row.batch for row in step.batch} == {0, 1}
    assert all(row.row is not None and row.row.key.trial == 0 for row in step.batch)
    text = drawn(lambda console: render_step(console, view, step))
    for row in judged.verdict.rows:
        assert row.id in text
    assert f"look {len(judged.verdict.looks)}: " in text
    assert "(p " in text
    assert sum(cost.attempts for cost in view.costs) == sum(made.harness.runs.values())
    assert {cost.phase for cost in view.costs if cost.attempts} == {"baseline", "rollouts", "gate", "sealed test"}


async def test_later_steps_know_the_buffer(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    step = await step_of(made, view, 2)
    assert [entry.step for entry in step.buffer] == [1]


async def test_a_result_that_was_read_back_is_told_apart(tmp_path: Path) -> None:
    made = world(tmp_path)
    await made.rollouts().score(made.skill, made.tasks.split("train"), run_id=await _earlier(made.journal))
    view = await trained(made)
    step = await step_of(made, view, 1)
    assert all(row.reused for row in step.batch)
    assert "read back" in drawn(lambda console: render_step(console, view, step))


async def _earlier(journal: Any) -> str:
    await journal.open_run(a_run("e-1", skill="skills/demo", fingerprint="eval train"))
    await journal.end_run("e-1", "done")
    return "e-1"


async def test_an_invalid_attempt_is_told_with_its_outcome(tmp_path: Path) -> None:
    made = world(tmp_path)
    made.train = KNOBS.model_copy(update={"attempt_tries": 1, "min_valid": 0.1})
    made.harness.failures = {"train-00": [Outcome.VERIFIER_FAILED] * 9}
    view = await trained(made)
    number = next(step.step for step in view.steps if "train-00" in step.batches[0])
    step = await step_of(made, view, number)
    row = next(row for row in step.batch if row.task == "train-00")
    assert row.row is not None
    assert row.row.record.outcome == Outcome.VERIFIER_FAILED
    assert "verifier_failed" in drawn(lambda console: render_step(console, view, step))


async def test_both_views_are_data_and_text(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    step = await step_of(made, view, 1)
    data = json.loads(json.dumps(run_data(view)))
    assert [row["outcome"] for row in data["steps"]] == [row.outcome for row in view.steps]
    assert data["test"]["after"]["of"] == 3
    assert data["costs"]["total"]["attempts"] == sum(made.harness.runs.values())
    whole = json.loads(json.dumps(step_data(view, step)))
    assert whole["decision"]["reason"] == view.steps[0].reason
    assert len(whole["batch"]) == 4
    text = drawn(lambda console: render_run(console, view))
    for words in (view.run.run_id, "train.batch", "baseline", "sealed test", "optimizer: reflect", view.run.skill):
        assert words in text
    text = drawn(lambda console: render_step(console, view, step))
    for words in ("train-0", "1/reflect/failures.0.0", "append: - rule-", "gate: ", view.steps[0].reason[:40]):
        assert words in text


async def test_the_sealed_test_is_never_told_by_task(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    shown = drawn(lambda console: render_run(console, view)) + json.dumps(run_data(view))
    for number in (1, 2):
        step = await step_of(made, view, number)
        shown += drawn(lambda console, step=step: render_step(console, view, step))  # type: ignore[misc]
        shown += json.dumps(step_data(view, step))
    assert "selection-0" in shown
    assert "test-0" not in shown
    await evaluate(made.rollouts(), made.journal, make_skill("x"), made.tasks, split="test", reporting=True, path="s")
    runs = await made.journal.find_runs("s")
    tested = await viewed(made, runs[-1].run_id)
    assert tested.run.fingerprint == "eval test"
    assert "test-0" not in drawn(lambda console: render_run(console, tested)) + json.dumps(run_data(tested))


async def test_text_from_models_is_neutralised(tmp_path: Path) -> None:
    evil = "[red]bold[/red] \x1b[2J\u202e reversed"

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name != "reflect_failures":
            return sensible(request)
        pattern = {"type": evil, "count": 1, "description": evil}
        return reflection(edit(f"- rule-0 {evil}", evidence=["train-00"]), patterns=[pattern])

    made = world(tmp_path, client=ScriptedOptimizer(reply))
    view = await trained(made)
    for number in (1, 2):
        step = await step_of(made, view, number)
        text = drawn(lambda console, step=step: render_step(console, view, step))  # type: ignore[misc]
        assert "[red]bold[/red]" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


async def test_slow_updates_and_meta_skills_are_told(tmp_path: Path) -> None:
    knobs = KNOBS.model_copy(update={"epochs": 2, "slow_update": "gated", "meta_skill": True, "slow_update_samples": 4})

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "slow_update":
            return {"reasoning": "why not", "guidance": "- keep a \x1b[2J ledger"}
        if request.schema_name == "meta_skill":
            return {"reasoning": "r", "notes": "small edits held up"}
        return sensible(request)

    made = world(tmp_path, train=knobs, client=ScriptedOptimizer(reply))
    made.harness.needs = {**made.harness.needs, "selection-00": ["never"], "train-00": ["never"]}
    view = await trained(made)
    assert view.slow_updates
    [update] = view.slow_updates
    text = drawn(lambda console: render_run(console, view))
    assert f"slow update after epoch 2: {update.outcome.replace('_', ' ')}" in text
    assert f"{len(update.sampled)} train tasks under the skills of two epochs" in text
    assert "\x1b" not in text
    data = run_data(view)
    assert data["slow_updates"][0]["sampled"] == list(update.sampled)
    assert {cost.phase for cost in view.costs} >= {"optimizer: slow update"}
    assert sum(cost.attempts for cost in view.costs) == sum(made.harness.runs.values())


async def test_what_people_did_before_the_run_is_told(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    assert view.turned_down == ()
    assert "turned down by people" not in drawn(lambda console: render_run(console, view))
    bold = Edit(Op.APPEND, content="- guess \x1b[2J boldly")
    one = TakenBack(key="k", edit=bold, changes=(), reason="it guesses", commit="a" * 40, by="b" * 40)
    edits = (Again("3" * 40, "Add a", "4" * 40), Again("5" * 40, "Add b", "", "gone"))
    done = Followed("0" * 40, "1" * 40, "2" * 40, edits)
    run = replace(view.run, run_id="r-after-people", state="open")
    await made.journal.open_run(run)
    people = {"taken_back": [one.model_dump(mode="json")], "train": {}}
    await made.journal.save_decision(Decision(run.run_id, 0, PEOPLE, people))
    await made.journal.save_decision(Decision(run.run_id, 0, FOLLOWED, asdict(done)))
    told = await read_run(made.journal, run)
    assert (told.turned_down, told.followed, told.others) == ((one,), done, ())
    text = drawn(lambda console: render_run(console, told))
    assert "aaaaaaaaaa append: - guess \N{REPLACEMENT CHARACTER}[2J boldly: it guesses" in text
    assert "was changed on HEAD (1111111111): 1 of 2 unpublished edits of the branch made again on it" in text
    assert "dropped: Add b (5555555555): gone" in text
    assert run_data(told)["turned_down"][0]["reason"] == "it guesses"
    assert run_data(told)["followed"]["edits"][1]["why"] == "gone"


async def test_decisions_of_other_kinds_and_with_unknown_fields_are_told(tmp_path: Path) -> None:
    made = world(tmp_path)
    view = await trained(made)
    run_id = view.run.run_id
    meta = {"step": 2, "epoch": 1, "content": "small \x1b[2J edits\nheld up", "from_the_future": 1}
    note = {"when": 1.0, "text": "keep \x1b[2J ledgers", "groups": {"improved": ["train-00"]}}
    await made.journal.save_decision(Decision(run_id, 2, "meta_skill", meta))
    await made.journal.save_decision(Decision(run_id, 2, "curriculum", note))
    view = await viewed(made)
    text = drawn(lambda console: render_run(console, view))
    assert "meta skill after epoch 1" in text
    assert "small \N{REPLACEMENT CHARACTER}[2J edits" in text
    assert "curriculum after step 2" in text
    assert "keep \N{REPLACEMENT CHARACTER}[2J ledgers" in text
    assert run_data(view)["others"] == [{"step": 2, "kind": "curriculum", **note}]
    newer = {**view.steps[0].payload(), "from_the_future": 1}
    assert lenient(StepDecision, newer) == view.steps[0]


async def test_a_run_that_has_decided_nothing_is_told_too(tmp_path: Path) -> None:
    made = world(tmp_path)
    await made.journal.open_run(a_run("r-early", skill="skills/demo"))
    view = await viewed(made)
    text = drawn(lambda console: render_run(console, view))
    assert "not measured yet" in text
    assert "not opened" in text


async def test_a_run_is_found_by_the_beginning_of_its_id_or_as_the_latest_training() -> None:
    journal = MemoryJournal()
    for run_id, skill, fingerprint in (
        ("r-11", "skills/demo", "f"),
        ("r-12", "skills/demo", "f"),
        ("r-2", "skills/other", "f"),
        ("e-1", "skills/demo", "eval selection"),
    ):
        await journal.open_run(RunRecord(run_id, fingerprint, skill, "c", "open", 1.0))
    assert (await find_run(journal, "latest", "skills/demo")).run_id == "r-12"
    assert (await find_run(journal, "r-11", "skills/demo")).run_id == "r-11"
    assert (await find_run(journal, "e", "skills/demo")).run_id == "e-1"
    assert (await find_run(journal, "r-2", "skills/demo")).run_id == "r-2"
    with pytest.raises(JournalError, match="r-1 is the beginning of 2 runs: r-11, r-12: give more of it"):
        await find_run(journal, "r-1", "skills/demo")
    with pytest.raises(JournalError, match="no run begins with x: the newest are e-1, r-2, r-12, r-11"):
        await find_run(journal, "x", "skills/demo")
    with pytest.raises(JournalError, match=r"no training of skills/none \(run `honed train` first\)"):
        await find_run(journal, "latest", "skills/none")
    with pytest.raises(JournalError, match="no run begins with"):
        await find_run(journal, "", "skills/demo")


async def test_an_id_that_is_the_beginning_of_another_is_found_as_itself() -> None:
    journal = MemoryJournal()
    for run_id in ("r-1", "r-10"):
        await journal.open_run(a_run(run_id))
    assert (await find_run(journal, "r-1", "xlsx")).run_id == "r-1"
