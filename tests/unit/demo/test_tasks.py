"""The task set loads as any other, is the same on every run, and holds what it promises."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import openpyxl
import pytest

from daemon.demo.demo_set import DemoSet
from daemon.demo.tasks import PLANS, write_demo
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Result
from sandboxes.sandbox import Collected
from skills_repo.validate import validate
from tests.support.demo import DemoWorkshop, compared, skill_of

TRAPS = {"formula", "gap", "keys", "sheet"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_seed_writes_the_same_bytes(demo: DemoSet, tmp_path: Path) -> None:
    again = write_demo(tmp_path)
    assert contents(again.folder) == contents(demo.folder)
    assert load_tasks(again.tasks).digest == load_tasks(demo.tasks).digest


def test_another_seed_writes_other_tasks_of_the_same_groups(demo: DemoSet, tmp_path: Path) -> None:
    ours, theirs = load_tasks(demo.tasks).tasks, load_tasks(write_demo(tmp_path, seed=99).tasks).tasks
    assert [task.group for task in theirs] == [task.group for task in ours]
    assert not {task.digest for task in ours} & {task.digest for task in theirs}


def test_the_set_has_the_sizes_it_tells(demo: DemoSet) -> None:
    assert load_tasks(demo.tasks).sizes() == demo.sizes == {"train": 16, "selection": 12, "test": 12}


@pytest.mark.parametrize("split", ["train", "selection", "test"])
def test_every_split_has_every_trap_and_tasks_without_one(split: str) -> None:
    groups = Counter(plan.group for plan in PLANS[split])
    assert {trap for group in groups for trap in group.split("+")} >= TRAPS | {"plain"}
    assert groups["plain"] == 2
    assert any("+" in group for group in groups)


def test_groups_are_on_the_tasks(workshop: DemoWorkshop) -> None:
    for split, plans in PLANS.items():
        found = [workshop.tasks[f"{split}-{number:02}"].group for number in range(1, len(plans) + 1)]
        assert found == [plan.group for plan in plans]


def test_nothing_the_agent_sees_holds_the_answer(workshop: DemoWorkshop) -> None:
    for task in workshop.tasks.values():
        (given,) = task.file_bytes().values()
        comparison = compared(task, given)
        assert comparison is not None
        assert comparison.wrong >= 5, task.id


def test_the_traps_are_in_the_workbooks(workshop: DemoWorkshop) -> None:
    for task in workshop.tasks.values():
        sheet_name, cells = str(task.scorer.options["range"]).split("!")
        (given,) = task.file_bytes().values()
        book = openpyxl.load_workbook(io.BytesIO(given))
        assert (book.active is not book[sheet_name]) is ("sheet" in task.group), task.id
        rows = [row[0].row for row in book[sheet_name][cells]]
        empty = [row for row in rows if all(cell.value is None for cell in book[sheet_name][row])]
        assert bool(empty) is ("gap" in task.group), task.id
        assert ("ormula" in task.prompt) is ("formula" in task.group), task.id


async def test_gold_scores_full_and_the_untouched_file_does_not(workshop: DemoWorkshop) -> None:
    task = workshop.tasks["test-09"]
    gold = await score_task(task, Result(workspace=Collected({"output.xlsx": task.tests["gold.xlsx"].read_bytes()})))
    assert (gold.value, gold.hard, gold.feedback) == (1.0, True, "")
    (given,) = task.file_bytes().values()
    untouched = await score_task(task, Result(workspace=Collected({"output.xlsx": given})))
    assert not untouched.hard
    nothing = await score_task(task, Result(workspace=Collected({})))
    assert nothing.feedback == "the output file output.xlsx is missing"


def test_the_initial_skill_is_valid_and_short(demo: DemoSet) -> None:
    skill = skill_of(demo)
    assert validate(skill) == ()
    assert len(skill.text) < 1000
    assert demo.skill_path == "skills/spreadsheets"
