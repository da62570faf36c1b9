"""Attribution in whole runs: edits that carry nothing are dropped, and each commit says what its edit carries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
