"""Stopping a strict pass early changes no ruling, whatever the scores, weights, metric and failures of ours."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.strict import StrictGate, strict
from daemon.optimizer.gates.verdict import Pool, Verdict
from daemon.tasks.task import Task
from tests.support.gates import GateWorld, ScriptedSelection, selection_tasks
from tests.support.optimizer import make_task

SCORE = st.sampled_from([None, 0.0, 0.0, 0.3, 0.7, 1.0, 1.0])
SURE = st.sampled_from([0.0, 1.0])


@dataclass(frozen=True)
class World:
    tasks: tuple[Task, ...]
    before: tuple[float | None, ...]
    after: tuple[float | None, ...]
    rule: GateRule
    shorter: bool


@st.composite
def worlds(draw: st.DrawFn) -> World:
    n = draw(st.integers(1, 14))
    score = draw(st.sampled_from([SCORE, SURE]))
    weight = draw(st.sampled_from([st.just(1.0), st.sampled_from([0.5, 1.0, 3.0])]))
    guard = draw(st.sampled_from([st.just(False), st.booleans()]))
    tasks = tuple(make_task(f"t{i:02}", "selection", weight=draw(weight), protect=draw(guard)) for i in range(n))
    rule = GateRule(
        draw(st.sampled_from(["hard", "soft", "mixed"])), 0.4, draw(st.sampled_from([0.01, 0.3, 0.5, 0.8, 1.0]))
    )
    scores = st.tuples(*[score] * n)
    return World(tasks, draw(scores), draw(scores), rule, draw(st.booleans()))


async def judge(world: World, *, stop: bool) -> tuple[Verdict, int]:
    """The verdict, and how many tasks the candidate was asked."""
    selection = ScriptedSelection(world.tasks, world.rule)
    ids = [task.id for task in world.tasks]
    # The base's name is longer: the candidate is the shorter skill.
    base = selection.version("the-base", dict(zip(ids, world.before, strict=True)))
    candidate = selection.version("new", dict(zip(ids, world.after, strict=True)))
    gate = StrictGate(shorter_wins=world.shorter, lossless_stop=stop)
    verdict = await gate.judge(base, candidate, selection, Pool(0, 1))
    return verdict, selection.count(candidate)


@settings(max_examples=600, deadline=None)
@given(worlds())
async def test_the_ruling_is_the_one_of_the_full_pass(world: World) -> None:
    stopped, asked = await judge(world, stop=True)
    full, all_asked = await judge(world, stop=False)
    assert stopped.ruling == full.ruling
    assert asked <= all_asked == len(world.tasks)
    if stopped.ruling == "accepted":
        assert stopped == full, "an accepted candidate is measured whole: it is the next one to beat"


def fixed(before: Sequence[float], after: Sequence[float | None], min_valid: float = 0.5) -> World:
    tasks = selection_tasks(len(before))
    return World(tasks, tuple(before), tuple(after), GateRule(min_valid=min_valid), shorter=False)


async def test_what_can_be_gained_is_asked_first_and_then_it_is_over() -> None:
    world = fixed([1] * 6 + [0] * 6, [1] * 6 + [0] * 6)
    verdict, asked = await judge(world, stop=True)
    assert (verdict.ruling, asked) == ("rejected", 6)
    assert [row.id for row in verdict.rows] == [f"t{i:02}" for i in range(6, 12)]
    assert "stopped, for the other 6 cannot change that" in verdict.rule


async def test_it_goes_on_until_enough_is_valid_to_decide() -> None:
    world = fixed([1] * 6 + [0] * 6, [1] * 6 + [0] * 6, min_valid=0.75)
    verdict, asked = await judge(world, stop=True)
    assert (verdict.ruling, verdict.n, asked) == ("rejected", 9, 9)


async def test_it_ends_as_soon_as_too_little_can_become_valid() -> None:
    world = fixed([0] * 8, [None, None, None, None, 1, 1, 1, 1], min_valid=0.75)
    verdict, asked = await judge(world, stop=True)
    assert (verdict.ruling, asked) == ("indecisive", 3)


async def test_a_tie_goes_to_the_shorter_skill_only_where_size_counts() -> None:
    tasks = selection_tasks(4)
    for shorter, ruling in ((True, "accepted"), (False, "rejected")):
        verdict, _ = await judge(World(tasks, (1, 0, 1, 0), (0, 1, 1, 0), GateRule(), shorter), stop=True)
        assert verdict.ruling == ruling
    worse, _ = await judge(World(tasks, (1, 0, 1, 0), (0, 0, 1, 0), GateRule(), shorter=True), stop=True)
    assert worse.ruling == "rejected"


async def test_a_protected_task_that_breaks_rejects_whatever_else_is_gained() -> None:
    tasks = (make_task("t0", "selection", protect=True), make_task("t1", "selection"), make_task("t2", "selection"))
    verdict, _ = await judge(World(tasks, (1, 0, 0), (0, 1, 1), GateRule(min_valid=0.3), shorter=False), stop=True)
    assert verdict.ruling == "rejected"
    assert "protected task t0" in verdict.rule


@pytest.mark.parametrize("seed", range(6))
async def test_the_verdict_is_the_same_with_any_number_of_workers(tmp_path: Path, seed: int) -> None:
    rates = [1.0] * 6 + [0.0] * 4 + [0.5] * 6
    verdicts = []
    for workers, chaos in ((1, None), (4, random.Random(seed)), (24, random.Random(seed + 99))):
        world = GateWorld(tmp_path, rates, seed=seed, workers=workers, chaos=chaos, rule=GateRule(min_valid=0.5))
        selection = await world.selection()
        candidate = world.version(rates, "candidate")
        verdicts.append(await StrictGate().judge(world.skill, candidate, selection, Pool(0, 1)))
    assert verdicts[0] == verdicts[1] == verdicts[2]


def test_the_pure_rule_is_the_paper_s() -> None:
    assert strict([], [], GateRule()).ruling == "indecisive"
