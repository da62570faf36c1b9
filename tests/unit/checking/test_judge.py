"""A change is worse where the gate would go back, and where a protected task breaks; never by mere noise or size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.checking.judge import CheckReport, check, judged, rule_of, unmeasured
from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.scoring_run import trains
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import Task, TaskSet
from skills_repo.skill import Skill
from tests.support.gates import GateWorld, RateSelection, ScriptedSelection, selection_tasks, verify_rate
from tests.support.optimizer import make_skill, no_wait

TASKS = selection_tasks(12)
GATES = ("paired", "strict", "off")


def some(solved: int, of: int = 12) -> dict[str, float | None]:
    """The first tasks solved, the others not."""
    return {task.id: float(number < solved) for number, task in enumerate(TASKS[:of])}


async def found(
    before: Mapping[str, float | None],
    after: Mapping[str, float | None],
    gate: str = "paired",
    tasks: tuple[Task, ...] = TASKS,
) -> CheckReport:
    selection = ScriptedSelection(tasks)
    skills = selection.version("old", before), selection.version("new", after)
    return await judged(selection, TrainSection.model_validate({"gate": gate}), *skills)


@pytest.mark.parametrize("gate", GATES)
async def test_a_clear_loss_is_one(gate: str) -> None:
    report = await found(some(9), some(2), gate)
    assert (report.finding, report.passed) == ("lower", False)
    assert report.before == pytest.approx(9 / 12)
    assert report.after == pytest.approx(2 / 12)
    assert report.delta == pytest.approx(-7 / 12)
    assert report.broken == tuple(f"t{number:02}" for number in range(2, 9))
    assert report.fixed == ()
    assert (report.tasks, report.of) == (12, 12)
    rows = {row.id: (row.before, row.after) for row in report.rows}
    assert rows["t05"] == (1.0, 0.0)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize(("before", "after"), [(2, 9), (5, 5), (0, 0), (12, 12)])
async def test_a_gain_and_no_difference_pass(gate: str, before: int, after: int) -> None:
    report = await found(some(before), some(after), gate)
    assert (report.finding, report.passed) == ("not_lower", True)
    assert report.broken == ()


async def test_a_shorter_skill_of_the_same_worth_is_no_reason_to_go_back() -> None:
    selection = ScriptedSelection(TASKS)
    long, short = (selection.version(name, some(6)) for name in ("a much longer version of it", "x"))
    for skills in ((long, short), (short, long)):
        for gate in GATES:
            train = TrainSection.model_validate({"gate": gate, "size_penalty": 0.001})
            assert (await judged(selection, train, *skills)).finding == "not_lower"


@pytest.mark.parametrize("gate", ["paired", "strict"])
async def test_a_protected_task_that_breaks_is_a_loss_among_gains(gate: str) -> None:
    tasks = (replace(TASKS[0], protect=True), *TASKS[1:])
    report = await found(some(3), {**some(11), "t00": 0.0}, gate, tasks)
    assert (report.finding, report.protected) == ("lower", ("t00",))
    assert "breaks the protected task t00" in report.reason
    assert [row.id for row in report.rows if row.protect] == ["t00"]


@pytest.mark.parametrize("gate", ["paired", "strict"])
async def test_a_protected_task_that_was_mended_hides_no_loss(gate: str) -> None:
    tasks = (*TASKS[:11], replace(TASKS[11], protect=True))
    report = await found(some(9), {**some(2), "t11": 1.0}, gate, tasks)
    assert report.finding == "lower"
    assert report.protected == ()


@pytest.mark.parametrize("gate", ["paired", "strict"])
async def test_too_few_valid_results_decide_nothing(gate: str) -> None:
    nothing: dict[str, float | None] = {**some(6), **{f"t{number:02}": None for number in range(6)}}
    report = await found(some(6), nothing, gate)
    assert (report.finding, report.passed) == ("indecisive", False)
    assert report.reason.startswith("nothing can be said: ")


def test_what_needs_no_measuring() -> None:
    old, new = make_skill("- a"), make_skill("- b")
    assert unmeasured(old, new) is None
    same = unmeasured(old, Skill(old.name, dict(old.files)))
    assert same is not None
    assert (same.finding, same.passed) == ("unchanged", True)
    first = unmeasured(None, new)
    assert first is not None
    assert (first.finding, first.passed) == ("new", True)


async def test_noise_alone_is_seldom_called_a_loss_and_a_real_loss_is_found() -> None:
    train = TrainSection()
    calls = {"same": 0, "worse": 0}
    for seed in range(60):
        for name, rate in (("same", 0.5), ("worse", 0.1)):
            selection = RateSelection(TASKS, seed)
            old = selection.version("old", {task.id: 0.5 for task in TASKS})
            new = selection.version("new", {task.id: rate for task in TASKS})
            calls[name] += (await judged(selection, train, old, new)).finding == "lower"
    assert calls["same"] <= 9, "the bound is 3 of 60 on average"
    assert calls["worse"] >= 50


async def test_the_check_is_a_run_of_its_own_and_pays_once(tmp_path: Path) -> None:
    world = GateWorld(tmp_path, [1.0] * 8)
    worse = world.version([0.0] * 8, "worse")
    journal = MemoryJournal()
    rollouts = Rollouts(
        world.harness,
        verify_rate,
        journal,
        attempts_folder=tmp_path,
        workers=4,
        settings=AttemptSettings(tries=1),
        sleep=no_wait,
    )
    tasks = TaskSet(world.tasks, "x")
    wanted = {"before": world.skill, "after": worse, "path": "skills/demo", "commit": "c" * 40}
    report = await check(rollouts, journal, tasks, TrainSection(), **wanted)  # type: ignore[arg-type]
    assert report.finding == "lower"
    [run] = await journal.find_runs()
    assert (run.state, run.skill, run.base_commit, trains(run)) == ("done", "skills/demo", "c" * 40, False)
    paid = len(await journal.attempt_rows())
    again = await check(rollouts, journal, tasks, TrainSection(), **wanted)  # type: ignore[arg-type]
    assert again == report
    assert len(await journal.attempt_rows()) == paid


async def test_a_check_that_is_stopped_ends_its_run(tmp_path: Path) -> None:
    world = GateWorld(tmp_path, [1.0] * 8)
    journal = MemoryJournal()

    class Stopped:
        async def begin_run(self, run_id: str) -> None:
            raise RunStopped("no provider")

    with pytest.raises(RunStopped):
        await check(
            None,  # type: ignore[arg-type]
            journal,
            TaskSet(world.tasks, "x"),
            TrainSection(),
            before=world.skill,
            after=make_skill("- other"),
            purse=Stopped(),  # type: ignore[arg-type]
        )
    [run] = await journal.find_runs()
    assert run.state == "failed"


def test_the_rule_is_the_configurations() -> None:
    train = TrainSection(gate_metric="mixed", mixed_weight=0.25, min_valid=0.5)
    assert rule_of(train) == GateRule("mixed", 0.25, 0.5)
