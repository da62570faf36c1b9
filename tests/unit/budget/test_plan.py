"""How much a run asks for: the plan's bounds hold in real trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.budget.plan import Range, plan_run
from daemon.config_train import TrainSection
from daemon.tasks.task import Split
from harnesses.models.client import ModelRequest
from tests.support.optimizer import ScriptedOptimizer, World, WorldHarness, sensible, task_set

SIZES: dict[Split, int] = {"train": 20, "selection": 8, "test": 10}


def plan(sizes: dict[Split, int] = SIZES, **knobs: Any) -> Any:
    return plan_run(TrainSection.model_validate(knobs), sizes)


def test_a_strict_run_of_one_epoch() -> None:
    found = plan(epochs=1, batch=8, gate="strict", slow_update="off", meta_skill=False)
    assert found.steps == 3
    assert dict(found.attempts) == {
        "baseline": Range(8, 8),
        "rollouts": Range(20, 20),
        "gate": Range(0, 24),
        "slow update": Range(0, 0),
        "sealed test": Range(10, 20),
    }
    assert found.all_attempts == Range(38, 72)
    assert found.step_attempts == 8 + 8
    assert found.first == 8


def test_later_epochs_may_be_read_back_whole() -> None:
    rollouts = plan(epochs=4, batch=8).attempts["rollouts"]
    assert rollouts == Range(20, 80)


@pytest.mark.parametrize(
    ("knobs", "gate"),
    [
        ({"gate": "off"}, 0),
        ({"gate": "strict"}, 8),
        ({"gate": "paired", "gate_trials": 3}, 64),
        ({"gate": "strict", "attribution": True, "edit_budget": 4}, 48),
    ],
)
def test_the_gate_takes_what_its_rule_asks_for_at_most(knobs: dict[str, Any], gate: int) -> None:
    assert plan(epochs=1, batch=40, **knobs).step_attempts == 20 + gate


@pytest.mark.parametrize(("gate", "baseline"), [("off", 0), ("strict", 8), ("paired", 24)])
def test_the_initial_skill_is_measured_as_the_gate_wants_it(gate: str, baseline: int) -> None:
    found = plan(gate=gate)
    assert found.attempts["baseline"] == Range(baseline, baseline)
    assert found.first == baseline


def test_a_slow_update_compares_two_skills_and_is_judged() -> None:
    knobs: dict[str, Any] = {"epochs": 3, "gate": "strict"}
    assert plan(**knobs, slow_update="gated").attempts["slow update"] == Range(0, 2 * (2 * 20 + 8))
    assert plan(**knobs, slow_update="forced").attempts["slow update"] == Range(0, 2 * 2 * 20)
    assert plan(**knobs, slow_update="off").attempts["slow update"] == Range(0, 0)
    assert plan(**knobs, slow_update_samples=5).attempts["slow update"] == Range(0, 2 * (2 * 5 + 8))
    assert plan(**knobs).requests["slow update and meta skill"] == Range(0, 4)


def test_reflections_and_merges_are_counted_as_they_are_cut() -> None:
    found = plan(epochs=1, batch=20, minibatch=8, merge_batch=2)
    assert found.requests["reflections"] == Range(0, 4)
    assert found.requests["merges"] == Range(0, 2 + 1 + 1)


@pytest.mark.parametrize("gate", ["off", "strict", "paired"])
@pytest.mark.parametrize("minibatch", [1, 2, 4])
async def test_a_real_run_stays_within_its_plan(tmp_path: Path, minibatch: int, gate: str) -> None:
    knobs = {"epochs": 3, "batch": 3, "minibatch": minibatch, "merge_batch": 2, "gate": gate, "slow_update_samples": 4}
    train = TrainSection.model_validate(knobs)
    tasks = task_set(5, 4, 3)
    needs = {task.id: [f"rule-{number % 3}"] for number, task in enumerate(tasks.tasks)} | {"train-00": ["never"]}

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "slow_update":
            return {"reasoning": "r", "guidance": f"- note {len(world.client.requests)}"}
        return {"reasoning": "r", "notes": "n"} if request.schema_name == "meta_skill" else sensible(request)

    world = World(tmp_path, WorldHarness(needs), tasks, train=train, client=ScriptedOptimizer(reply))
    report = await world.training().run()
    found = plan_run(train, tasks.sizes())
    assert found.all_attempts.least <= report.attempts <= found.all_attempts.most
    assert 0 < len(world.client.requests) <= found.all_requests.most


async def test_a_run_without_edits_takes_the_least(tmp_path: Path) -> None:
    train = TrainSection(epochs=3, batch=3, gate="strict", slow_update="off")
    tasks = task_set(5, 4, 3)
    client = ScriptedOptimizer(lambda request: {"patterns": [], "reasoning": "", "edits": []})
    world = World(
        tmp_path, WorldHarness({task.id: ["never"] for task in tasks.tasks}), tasks, train=train, client=client
    )
    await world.training().run()
    assert sum(world.harness.runs.values()) == plan_run(train, tasks.sizes()).all_attempts.least
