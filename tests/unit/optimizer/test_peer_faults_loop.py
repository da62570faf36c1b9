"""Faults of peers in the loop, the gate and the memory: none of them is ours. Each test is named after its fault."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.optimizer.batches import minibatches, plan_steps
from daemon.optimizer.memory import EarlierStep, StepBuffer
from daemon.optimizer.report import RunReport
from daemon.optimizer.schedule import edit_budget
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import TaskSet
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from tests.support.optimizer import (
    Heard,
    World,
    WorldHarness,
    edit,
    make_result,
    make_skill,
    make_task,
    reflection,
    section,
    sensible,
    task_set,
    user_text,
)


def two_rules(folder: Path, **train: Any) -> World:
    """Even tasks need rule-a, odd ones rule-b; a rule is learned a step."""
    tasks = task_set(4, 4, 4)
    needs = {task.id: ["rule-b" if int(task.id[-2:]) % 2 else "rule-a"] for task in tasks.tasks}
    knobs = TrainSection(
        **{"gate": "strict", "epochs": 2, "batch": 2, "minibatch": 2, "edit_budget": 1, "min_edit_budget": 1, **train}
    )
    return World(folder, WorldHarness(needs), tasks, train=knobs)


def hopeless(folder: Path, **train: Any) -> World:
    """Nothing that is learned on train helps on selection."""
    world = two_rules(folder, **train)
    world.harness.needs = {task: ["rule-z" if "selection" in task else "rule-a"] for task in world.harness.needs}
    return world


async def text_of(world: World, report: RunReport) -> str:
    return (await world.history.read(report.commits[-1] if report.commits else report.base_commit)).text


async def test_same_seed_but_another_skill_because_results_are_kept_in_order_of_completion(tmp_path: Path) -> None:
    texts = set()
    for seed in range(6):
        world = two_rules(tmp_path / str(seed), edit_budget=4)
        world.workers = 8
        world.harness.chaos, world.client.chaos = random.Random(seed), random.Random(seed + 1)
        texts.add(await text_of(world, await world.training().run()))
    assert len(texts) == 1


@pytest.mark.parametrize(("size", "batch", "accumulation"), [(10, 4, 1), (10, 4, 2), (9, 4, 3), (4, 4, 2), (3, 8, 4)])
def test_a_tail_batch_or_an_empty_microbatch_is_refilled_with_tasks_already_seen(
    size: int, batch: int, accumulation: int
) -> None:
    plans = plan_steps([str(i) for i in range(size)], epochs=2, batch=batch, accumulation=accumulation, seed=1)
    for epoch in (1, 2):
        batches = [ids for plan in plans if plan.epoch == epoch for ids in plan.batches]
        assert all(batches)
        assert sorted(i for ids in batches for i in ids) == sorted(map(str, range(size)))


def test_a_partial_hard_score_counts_as_success() -> None:
    """`hard` between 0 and 1 was truthy: half a solution is a failure, and is reflected on as one."""
    results = [make_result("half", 0.5), make_result("whole", 1.0), make_result("none", 0.0)]
    cut = minibatches(results, size=8, seed=1, step=1, ordinal=0)
    assert {minibatch.solved: set(minibatch.ids) for minibatch in cut} == {False: {"half", "none"}, True: {"whole"}}


async def test_the_reflections_budget_is_the_configured_one_and_not_the_scheduled_one(tmp_path: Path) -> None:
    world = hopeless(tmp_path, epochs=4, edit_budget=4, min_edit_budget=1, schedule="linear", minibatch=1)
    report = await world.training().run()
    told: dict[int, str] = {}
    for request in world.client.asked("reflect_failures"):
        told.setdefault(len(told), section(request, "edit_budget"))
    scheduled = [step.budget for step in report.steps for _ in range(step.rollout.valid - step.rollout.solved)]
    assert [int(budget) for budget in told.values()] == scheduled
    assert len(set(scheduled)) > 2


async def test_a_step_without_a_patch_does_not_advance_the_schedule(tmp_path: Path) -> None:
    """A peer's skipped steps kept the learning rate high, but only as long as nobody resumed."""
    world = hopeless(tmp_path, epochs=4, edit_budget=4, min_edit_budget=1, schedule="linear")
    world.client.reply = lambda request: reflection()
    report = await world.training().run()
    assert [step.outcome for step in report.steps] == ["no_edits"] * 8
    assert [step.budget for step in report.steps] == [
        edit_budget("linear", step, 8, most=4, least=1) for step in range(1, 9)
    ]


async def test_a_candidate_equal_to_its_base_is_evaluated_all_the_same(tmp_path: Path) -> None:
    def miss(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name.startswith("reflect"):
            return reflection(edit("- rule-a", "insert_after", "nowhere to be found"))
        return {"reasoning": "r", "edits": [], "selected": []}

    world = two_rules(tmp_path, epochs=1)
    world.client.reply = miss
    world.observer = heard = Heard()
    report = await world.training().run()
    assert {step.outcome for step in report.steps} == {"no_change"}
    assert not [event for event in heard.events if getattr(event, "phase", "") == "gate"]
    assert {digest for digest, _ in world.harness.runs} == {world.skill.digest}


async def test_a_perfect_score_does_not_stop_the_run(tmp_path: Path) -> None:
    """33 of 40 steps of a peer's run reflected on successes at 100 %."""
    world = two_rules(tmp_path, epochs=9, edit_budget=4)
    report = await world.training().run()
    assert report.selection.after is not None
    assert report.selection.after.score == 1.0
    assert len(report.steps) < 18
    assert "1.0" in report.ended


async def test_all_tasks_solved_and_still_an_edit_is_asked_for(tmp_path: Path) -> None:
    """Hermes and GEPA stall in silence where all is perfect: it is said, and nothing is asked."""
    world = two_rules(tmp_path, epochs=1)
    world.harness.needs = {task: rules for task, rules in world.harness.needs.items() if "train" not in task}
    report = await world.training().run()
    assert {step.outcome for step in report.steps} == {"nothing_to_learn"}
    assert all("solved" in step.reason for step in report.steps)
    assert not world.client.requests


async def test_an_empty_selection_split_gets_its_verdict_on_train(tmp_path: Path) -> None:
    world = two_rules(tmp_path)
    world.tasks = TaskSet(tuple(t for t in world.tasks.tasks if t.split != "selection"), Path("tasks.jsonl"))
    with pytest.raises(RunStopped, match="the selection split is empty"):
        await world.training().run()
    assert not world.harness.runs


async def test_failed_calls_score_zero_and_feed_the_gate(tmp_path: Path) -> None:
    """A candidate under which attempts are lost is not worse: the step is indecisive, and rejects nothing."""
    world = two_rules(tmp_path, epochs=1, edit_budget=4)
    world.harness.needs = {**world.harness.needs, "selection-00": [], "selection-01": []}
    base = await world.history.read(await world.history.base())

    async def fail(assignment: Any) -> Any:
        attempt = await WorldHarness.run(world.harness, assignment)
        learned = assignment.skill.digest != base.digest and "selection" in assignment.task_id
        return replace(attempt, outcome=Outcome.OUT_OF_MEMORY) if learned else attempt

    world.harness.run = fail  # type: ignore[method-assign]
    report = await world.training().run()
    gated = [step for step in report.steps if step.verdict is not None]
    assert gated
    assert {step.outcome for step in gated} == {"indecisive"}
    assert not report.commits
    assert report.count("undecided") > 0
    assert report.rejected == 0


async def test_timeouts_and_api_errors_are_cached_as_final_failures(tmp_path: Path) -> None:
    """An attempt that failed by our fault is tried again whenever it is asked for again."""
    world = two_rules(tmp_path, epochs=1, attempt_tries=1, min_valid=0.5)
    world.workers = 1  # so that something has worked before the first failure: else that one stops the run
    world.harness.failures = {"selection-01": [Outcome.RATE_LIMIT], "selection-03": [Outcome.SANDBOX_LOST]}
    report = await world.training().run()
    found = await world.journal.find_decision(report.run_id, 0, "baseline")
    assert found is not None
    assert (found.payload["measured"]["n"], found.payload["measured"]["of"]) == (2, 4)
    assert report.selection.before is not None
    assert (report.selection.before.n, report.selection.before.of) == (4, 4)


async def test_only_a_total_outage_stops_the_run(tmp_path: Path) -> None:
    """A peer went on while calls failed, and aborted at 100 % alone: here three in a row are enough."""
    world = two_rules(tmp_path, epochs=1, attempt_tries=1)
    world.workers = 1
    world.harness.failures = {task: [Outcome.UNREACHABLE] * 9 for task in world.harness.needs if "train" in task}
    with pytest.raises(RunStopped, match="unreachable"):
        await world.training().run()
    failed = [task for task in world.harness.failures if len(world.harness.failures[task]) < 9]
    assert len(failed) < 4


async def test_a_step_without_a_candidate_adds_nothing_to_the_buffer(tmp_path: Path) -> None:
    """What failed is worth knowing, also where no edit came of it."""

    def patterns_only(request: ModelRequest) -> dict[str, Any]:
        return reflection(patterns=[{"type": "a kind of failure", "count": 2, "description": "seen"}])

    world = hopeless(tmp_path, epochs=1)
    world.client.reply = patterns_only
    await world.training().run()
    first, second = world.client.asked("reflect_failures")
    assert "a kind of failure" not in section(first, "earlier_steps")
    assert "a kind of failure" in section(second, "earlier_steps")


async def test_the_patterns_words_are_attached_to_another_group_of_tasks(tmp_path: Path) -> None:
    """A peer zipped descriptions of one list to the groups of another."""
    rows = [{"type": kind, "count": n, "description": f"about {kind}"} for kind, n in (("x", 1), ("y", 3), ("z", 2))]
    world = hopeless(tmp_path, epochs=1)
    world.client.reply = lambda request: reflection(patterns=rows)
    report = await world.training().run()
    for step in report.steps:
        assert [(p.type, p.description) for p in step.patterns] == [(k, f"about {k}") for k in "yzx"]


async def test_a_rejected_edit_is_tried_again_in_the_same_epoch(tmp_path: Path) -> None:
    """No memory of rejected proposals: the same failed mutation over and over."""
    world = hopeless(tmp_path, epochs=1, batch=1)
    world.client.reply = lambda request: (
        reflection(edit("- rule-a")) if request.schema_name == "reflect_failures" else sensible(request)
    )
    report = await world.training().run()
    assert Counter(step.outcome for step in report.steps) == {"rejected": 1, "no_change": 3}
    later = world.client.asked("reflect_failures")[1:]
    assert all("- rule-a" in section(request, "earlier_steps") for request in later)


def test_the_buffer_outlives_its_epoch() -> None:
    buffer = StepBuffer(1, (EarlierStep(1, "rejected", 0.5, 0.4, ({"op": "append"},), ()),))
    assert buffer.at(1) is buffer
    assert buffer.at(2) == StepBuffer(2)


@pytest.mark.parametrize("told", [True, False])
async def test_an_edit_is_damned_for_the_set_it_was_tried_in(tmp_path: Path, told: bool) -> None:
    """A rejected set is told by group of tasks, unless train has no such group: then its name is held-out text."""
    world = hopeless(tmp_path, buffer_groups=told)
    groups = {"train-00": "ledgers", "train-01": "invoices"}
    groups |= {f"selection-{i:02}": "ledgers" if i < 3 else "secret" for i in range(8)}
    tasks = tuple(replace(task, group=groups.get(task.id, "")) for task in world.tasks.tasks)
    world.tasks = replace(world.tasks, tasks=tasks)
    world.client.reply = lambda request: (
        reflection(edit("- rule-a")) if request.schema_name == "reflect_failures" else sensible(request)
    )
    await world.training().run()
    second = world.client.asked("reflect_failures")[1]
    assert ("By group of tasks: ledgers (3 tasks) 0.000 -> 0.000." in section(second, "earlier_steps")) is told
    assert "secret" not in user_text(second)


async def test_the_shown_drop_belongs_to_another_step(tmp_path: Path) -> None:
    """The figures beside a rejected edit are those of its own gate."""
    world = hopeless(tmp_path, epochs=1, batch=1)
    world.harness.needs = {**world.harness.needs, "selection-00": [], "selection-01": []}
    world.harness.breaks = {"selection-00": ["rule-a"]}
    report = await world.training().run()
    step = next(step for step in report.steps if step.outcome == "rejected")
    assert step.verdict is not None
    assert (step.verdict.before, step.verdict.after) == (0.5, 0.25)
    told = section(world.client.asked("reflect_failures")[step.step], "earlier_steps")
    assert f"Step {step.step}: rejected. Score on 4 held-out tasks 0.500 -> 0.250 (drop 0.250)." in told


async def test_a_failed_merge_or_ranking_is_gone_on_without_in_silence(tmp_path: Path) -> None:
    """A peer's fallback was a warning on a stream: here the decision says it."""
    world = two_rules(tmp_path, epochs=1, batch=4, minibatch=1, edit_budget=1)
    world.client.reply = lambda request: "no json" if request.schema_name in ("merge", "rank") else sensible(request)
    report = await world.training().run()
    assert report.steps[0].outcome == "accepted"
    said = " ".join(report.steps[0].notes)
    assert "without repetitions" in said
    assert "no usable ranking" in said


async def test_an_optimizer_that_fails_looks_like_a_step_without_edits(tmp_path: Path) -> None:
    world = hopeless(tmp_path, epochs=1)
    world.client.reply = lambda request: "I would rather not."
    report = await world.training().run()
    assert {step.outcome for step in report.steps} == {"optimizer_error"}
    for step in report.steps:
        assert step.reason.startswith("no reply of the optimizer could be used: ")
        assert f"{step.step}/reflect/" in step.reason


async def test_the_test_split_is_reached_before_the_last_decision(tmp_path: Path) -> None:
    world = two_rules(tmp_path)
    world.observer = heard = Heard()
    await world.training().run()
    tests = [i for i, event in enumerate(heard.events) if getattr(event, "task_id", "").startswith("test-")]
    decided = [i for i, event in enumerate(heard.events) if type(event).__name__ == "StepDecided"]
    assert min(tests) > max(decided)
    assert not any("test-" in user_text(request) for request in world.client.requests)


async def test_soft_and_hard_scores_of_one_champion_are_mixed_up(tmp_path: Path) -> None:
    """63.4 or 56.0 for the same skill: both are recorded, and the one that the gate went by is named."""
    world = two_rules(tmp_path, gate_metric="soft")
    report = await world.training().run()
    assert report.metric == "soft"
    after = report.selection.after
    assert after is not None
    assert after.score == after.soft
    assert after.hard is not None


async def test_no_steps_at_all_are_bought_without_a_word(tmp_path: Path) -> None:
    """Say how many steps a configuration buys before anything is spent."""
    world = two_rules(tmp_path, epochs=3)
    world.observer = heard = Heard()
    await world.training().run()
    [started] = [event for event in heard.events if type(event).__name__ == "RunStarted"]
    assert started.steps == 6  # type: ignore[union-attr]
    assert heard.events[0] is started


async def test_gold_of_the_score_reaches_the_optimizer(tmp_path: Path) -> None:
    world = two_rules(tmp_path)
    await world.training().run()
    said = json.dumps([[request.system, user_text(request)] for request in world.client.requests])
    assert "GOLD" not in said


def test_weights_or_splits_of_a_task_are_part_of_its_identity() -> None:
    """Regrouping a task set must not pay for every attempt again."""
    task = make_task("t-1")
    assert replace(task, weight=2.0, split="test", group="g").digest == task.digest
    assert make_skill("x").digest != make_skill("y").digest
