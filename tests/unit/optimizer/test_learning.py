"""Rollouts and reflection at the same time: what is asked depends on results alone, never on who finished first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from daemon.budget.reached import BudgetReached
from daemon.config_train import TrainSection
from daemon.optimizer.batches import Minibatch, StepPlan, batch_order
from daemon.optimizer.learning import Learned, Learning
from daemon.optimizer.settings import Knobs
from daemon.rollouts.stop import RunStopped
from harnesses.harness import Assignment, Attempt
from harnesses.outcome import Outcome
from tests.support.journal import a_run
from tests.support.optimizer import World, WorldHarness, make_skill, task_set


class Notes:
    """A reflector that writes down what it was asked, and when."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.done_when_asked: dict[str, int] = {}

    async def reflect_one(self, minibatch: Minibatch) -> str:
        self.asked.append((minibatch.place, minibatch.ids))
        self.done_when_asked[minibatch.place] = sum(self.world.harness.runs.values())
        await asyncio.sleep(0)
        return f"on {minibatch.place}"


async def learn(world: World, batches: Sequence[Sequence[str]], *, size: int = 2) -> tuple[Learned[str], Notes]:
    knobs = Knobs(TrainSection(minibatch=size))
    await world.journal.open_run(a_run("r1"))
    notes = Notes(world)
    plan = StepPlan(1, 1, tuple(map(tuple, batches)))
    train = {task.id: task for task in world.tasks.split("train")}
    learned = await Learning(world.rollouts(), notes, make_skill(), plan, train, knobs, "r1").run()
    return learned, notes


def a_world(folder: Path, *, failing: Sequence[str], workers: int = 2, chaos: int | None = None) -> World:
    world = World(folder, WorldHarness({task: ["rule-a"] for task in failing}), task_set(12, 1, 1), workers=workers)
    world.train = TrainSection(attempt_tries=1)
    world.harness.chaos = random.Random(chaos) if chaos is not None else None
    return world


IDS = [f"train-{i:02}" for i in range(12)]
FAILING = IDS[:7]


async def test_a_full_minibatch_is_reflected_on_while_other_attempts_still_run(tmp_path: Path) -> None:
    """Fault of a peer: reflection waited for the last rollout."""
    world = a_world(tmp_path, failing=IDS, workers=1)
    _, notes = await learn(world, [IDS])
    assert notes.done_when_asked["failures.0.0"] < len(IDS)
    assert notes.asked[0][1] == batch_order(IDS, seed=42, step=1, ordinal=0)[:2]


async def test_neither_workers_nor_order_of_completion_change_what_is_asked(tmp_path: Path) -> None:
    ends = []
    for number, workers in enumerate((1, 2, 24)):
        world = a_world(tmp_path / str(number), failing=FAILING, workers=workers, chaos=number)
        learned, notes = await learn(world, [IDS[:6], IDS[6:]])
        ends.append(([(one.place, one.ids) for one in learned.cut], learned.answers, sorted(notes.asked)))
    assert ends[0] == ends[1] == ends[2]
    cut, answers, asked = ends[0]
    assert cut == asked
    assert {task for _, ids in cut for task in ids} == set(IDS)
    assert answers == tuple(f"on {place}" for place, _ in cut)


async def test_successes_wait_until_there_is_a_failure(tmp_path: Path) -> None:
    world = a_world(tmp_path, failing=(), workers=1)
    learned, notes = await learn(world, [IDS])
    assert notes.asked == []
    assert learned.answers == ()
    assert len(learned.results) == len(IDS)
    last = batch_order(IDS, seed=42, step=1, ordinal=0)[-1]
    world = a_world(tmp_path / "one", failing=[last], workers=1)
    learned, notes = await learn(world, [IDS])
    assert [place for place, _ in notes.asked][:5] == [f"successes.0.{i}" for i in range(5)]
    assert len(learned.answers) == len(learned.cut) == 7


async def test_invalid_attempts_are_reported_and_reflected_on_by_nobody(tmp_path: Path) -> None:
    world = a_world(tmp_path, failing=IDS)
    world.harness.failures = {IDS[3]: [Outcome.OUT_OF_MEMORY]}
    learned, notes = await learn(world, [IDS])
    assert [result.task_id for result in learned.results if not result.valid] == [IDS[3]]
    assert IDS[3] not in {task for _, ids in notes.asked for task in ids}


async def test_a_run_that_stops_leaves_no_reflection_running(tmp_path: Path) -> None:
    world = a_world(tmp_path, failing=IDS, workers=1)
    plain = world.harness.run
    ended: list[str] = []

    async def dying(assignment: Assignment) -> Attempt:
        if sum(world.harness.runs.values()) == 4:
            world.harness.failures[assignment.task_id] = [Outcome.AUTH]
        return await plain(assignment)

    class Slow(Notes):
        async def reflect_one(self, minibatch: Minibatch) -> str:
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(minibatch.place)
            return ""

    world.harness.run = dying  # type: ignore[method-assign]
    await world.journal.open_run(a_run("r1"))
    train = {task.id: task for task in world.tasks.split("train")}
    plan, knobs = StepPlan(1, 1, (tuple(IDS),)), Knobs(TrainSection(minibatch=2))
    with pytest.raises(RunStopped):
        await Learning(world.rollouts(), Slow(world), make_skill(), plan, train, knobs, "r1").run()
    assert ended == ["failures.0.0", "failures.0.1"]
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("failure", [RunStopped("the optimizer model failed"), TypeError("a fault of honed")])
async def test_a_failure_of_reflection_is_not_taken_for_a_budget_that_is_used_up(
    tmp_path: Path, failure: Exception
) -> None:
    """A step that ended by its budget would be journaled so, and nobody would learn of the dead provider."""
    world = a_world(tmp_path, failing=IDS, workers=1)
    plain = world.harness.run

    async def spent(assignment: Assignment) -> Attempt:
        if sum(world.harness.runs.values()) == 4:
            raise BudgetReached("step", "attempts", 4, 4)
        return await plain(assignment)

    class Failing(Notes):
        async def reflect_one(self, minibatch: Minibatch) -> str:
            await super().reflect_one(minibatch)
            raise failure

    world.harness.run = spent  # type: ignore[method-assign]
    await world.journal.open_run(a_run("r1"))
    train = {task.id: task for task in world.tasks.split("train")}
    plan, knobs = StepPlan(1, 1, (tuple(IDS),)), Knobs(TrainSection(minibatch=2))
    with pytest.raises(type(failure), match=str(failure)):
        await Learning(world.rollouts(), Failing(world), make_skill(), plan, train, knobs, "r1").run()
    assert len(asyncio.all_tasks()) == 1
