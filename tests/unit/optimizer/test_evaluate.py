"""`honed eval`: the selection split, the sealed test only to report, and nothing paid twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.budget.purse import OpenPurse
from daemon.optimizer.evaluate import evaluate
from daemon.optimizer.gates.rule import GateRule
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import SealedError
from harnesses.outcome import Outcome
from tests.support.optimizer import World, WorldHarness, make_skill, task_set


def made(folder: Path) -> World:
    tasks = task_set(2, 4, 3)
    return World(folder, WorldHarness({"selection-00": ["rule-a"], "test-00": ["rule-a"]}), tasks)


async def test_the_selection_split_is_the_default(tmp_path: Path) -> None:
    world = made(tmp_path)
    report = await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks, commit="c1")
    assert (report.skill, report.split, report.measured.score, report.decisive) == ("demo", "selection", 0.75, True)
    assert [result.task_id for result in report.results] == [f"selection-0{i}" for i in range(4)]
    assert (report.usage.requests, report.reused) == (4, 0)
    [run] = await world.journal.find_runs("demo")
    assert (run.state, run.base_commit) == ("done", "c1")


async def test_what_is_known_is_not_paid_again(tmp_path: Path) -> None:
    world = made(tmp_path)
    await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks)
    report = await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks)
    assert (report.usage.requests, report.reused) == (0, 4)


async def test_no_skill_can_be_measured_too(tmp_path: Path) -> None:
    world = made(tmp_path)
    report = await evaluate(world.rollouts(), world.journal, None, world.tasks, split="train")
    assert (report.skill, report.digest, report.measured.score) == ("", "", 1.0)


async def test_the_test_split_is_sealed_unless_it_is_for_a_report(tmp_path: Path) -> None:
    world = made(tmp_path)
    with pytest.raises(SealedError, match="sealed"):
        await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks, split="test")
    assert await world.journal.find_runs() == ()
    report = await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks, split="test", reporting=True)
    assert report.measured.of == 3


async def test_too_few_valid_results_are_not_decisive(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.harness.failures = {"selection-01": [Outcome.OUT_OF_MEMORY] * 9, "selection-02": [Outcome.OUT_OF_MEMORY] * 9}
    report = await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks, rule=GateRule("soft"))
    assert (report.measured.n, report.measured.of, report.decisive) == (2, 4, False)
    assert report.metric == "soft"


async def test_a_stopped_evaluation_keeps_what_it_has_and_says_it_failed(tmp_path: Path) -> None:
    world = made(tmp_path)
    world.workers = 1
    world.harness.failures = {"selection-02": [Outcome.AUTH]}
    with pytest.raises(RunStopped, match="check the API key"):
        await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks)
    assert [run.state for run in await world.journal.find_runs()] == ["failed"]
    report = await evaluate(world.rollouts(), world.journal, make_skill(), world.tasks)
    assert report.reused == 2


async def test_an_evaluation_is_journaled_under_the_skills_path_and_says_who_worked(tmp_path: Path) -> None:
    world = made(tmp_path)
    purse = OpenPurse(world.journal)
    for skill in (make_skill(), None):
        await evaluate(world.rollouts(), world.journal, skill, world.tasks, path="skills/demo", purse=purse)
    runs = await world.journal.find_runs("skills/demo")
    assert [run.fingerprint for run in runs] == ["eval selection", "eval selection"]
    assert [span.run_id for span in await world.journal.spans()] == [run.run_id for run in runs]
