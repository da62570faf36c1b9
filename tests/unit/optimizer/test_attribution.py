"""Attribution in whole runs: edits that carry nothing are dropped, and each commit says what its edit carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.budget.reached import BudgetReached
from daemon.config_train import TrainSection
from harnesses.models.client import ModelRequest
from tests.support.optimizer import ScriptedOptimizer, World, WorldHarness, edit, reflection, sensible, task_set


def world(folder: Path, *edits: dict[str, Any], **train: Any) -> World:
    """Half of the tasks need rule-a, the others rule-b."""
    tasks = task_set(4, 8, 2)
    needs = {task.id: ["rule-b" if int(task.id[-2:]) % 2 else "rule-a"] for task in tasks.tasks}

    def reply(request: ModelRequest) -> Any:
        return reflection(*edits) if request.schema_name == "reflect_failures" else sensible(request)

    knobs = {"epochs": 1, "batch": 4, "minibatch": 4, "attribution": True, "edit_budget": 4, **train}
    return World(folder, WorldHarness(needs), tasks, ScriptedOptimizer(reply), train=TrainSection(**knobs))


@pytest.mark.parametrize("gate", ["paired", "strict"])
async def test_an_edit_that_carries_nothing_is_dropped_before_the_commit(tmp_path: Path, gate: str) -> None:
    made = world(tmp_path, edit("- rule-a"), edit("- useless"), edit("- rule-b"), gate=gate)
    report = await made.training().run()
    [step] = report.steps
    assert step.outcome == "accepted"
    assert [one.content for one in step.applied] == ["- rule-a", "- rule-b"]
    assert [(row.edit.content, row.reason) for row in step.refused] == [
        ("- useless", "it carries nothing: the skill scores no less without it")
    ]
    assert "useless" not in (await made.history.read(made.history.branch)).text
    gates = [row.trailers["Honed-Gate"] for row in await made.history.log() if "Honed-Run" in row.trailers]
    assert [text.rsplit(" ", 1)[1] for text in gates] == ["share=+0.500", "share=+0.500"]
    assert {fate.edit.content: fate.fate for fate in report.edits} == {
        "- rule-a": "accepted",
        "- useless": "refused",
        "- rule-b": "accepted",
    }


async def test_without_it_what_was_judged_together_stays_together(tmp_path: Path) -> None:
    made = world(tmp_path, edit("- rule-a"), edit("- useless"), attribution=False)
    report = await made.training().run()
    assert len(report.commits) == 2
    assert all("share=" not in row.trailers.get("Honed-Gate", "") for row in await made.history.log())


async def test_a_resumed_run_comes_to_the_same_commits(tmp_path: Path) -> None:
    edits = [edit("- rule-a"), edit("- useless"), edit("- rule-b")]
    first = await world(tmp_path / "a", *edits).training().run()
    made = world(tmp_path / "b", *edits)
    await made.training().run()
    again = world(tmp_path / "c", *edits)
    again.journal = made.journal
    assert (await again.training().run()).run_id != first.run_id  # a finished run is not resumed
    assert first.commits == (await world(tmp_path / "d", *edits).training().run()).commits


async def test_where_the_steps_budget_ends_in_it_the_candidate_that_holds_is_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has passed its gate, and that is paid for: only what each edit carries is not known."""

    async def spent(*args: Any, **kwargs: Any) -> Any:
        raise BudgetReached("step", "attempts", 9, 9)

    monkeypatch.setattr("daemon.optimizer.step.attribute", spent)
    made = world(tmp_path, edit("- rule-a"), edit("- useless"), edit("- rule-b"), gate="strict")
    report = await made.training().run()
    [step] = report.steps
    assert (step.outcome, len(report.commits), step.shares) == ("accepted", 3, ())
    assert any("nothing is dropped: [budget.step]" in note for note in step.notes)
    assert report.selection.after is not None
    assert report.selection.after.score == 1.0


async def test_the_runs_budget_ends_the_run_in_it_and_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def spent(*args: Any, **kwargs: Any) -> Any:
        raise BudgetReached("run", "attempts", 9, 9)

    made = world(tmp_path, edit("- rule-a"), edit("- useless"), gate="strict")
    with monkeypatch.context() as patched:
        patched.setattr("daemon.optimizer.step.attribute", spent)
        with pytest.raises(BudgetReached):
            await made.training().run()
    [run] = await made.journal.find_runs()
    assert (run.state, await made.journal.find_decision(run.run_id, 1, "step")) == ("open", None)
    report = await made.training().run()
    assert report.resumed
    assert [one.content for one in report.steps[0].applied] == ["- rule-a"]


async def test_an_edit_that_missed_its_place_is_still_said_to_have_missed_it(tmp_path: Path) -> None:
    missed = edit("- x", op="replace", target="not in the skill")
    made = world(tmp_path, edit("- rule-a"), edit("- useless"), missed, edit("- rule-b"), gate="strict")
    report = await made.training().run()
    [step] = report.steps
    assert [row.content for row in step.chosen] == ["- rule-a", "- rule-b"]
    fates = {fate.edit.content: (fate.fate, fate.reason.split(":")[0]) for fate in report.edits}
    assert fates["- x"] == ("skipped", "target_missing")
    assert len(report.edits) == 4
