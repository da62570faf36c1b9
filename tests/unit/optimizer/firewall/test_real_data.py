"""On public benchmark data, where it is at hand: general rules pass, answers and copied text do not."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path

import pytest

from daemon.optimizer.firewall import Firewall
from daemon.tasks.task import ScorerSpec, Split, Task, TaskSet
from tests.support.tasks import real_data
from tests.unit.optimizer.firewall.samples import GENERAL
from tests.unit.optimizer.firewall.world import SKILL, make_task

SPLITS: tuple[Split, ...] = ("train", "train", "train", "train", "selection", "test", "test", "test", "test", "test")


@cache
def questions() -> tuple[Task, ...]:
    rows = json.loads(real_data("searchqa/searchqa_split/val/items.json").read_text(encoding="utf-8"))
    return tuple(
        make_task(f"q{n:03}", SPLITS[n % 10], prompt=f"{row['question']}\n{row['context']}", answer=row["answers"])
        for n, row in enumerate(rows)
    )


@cache
def workbooks() -> tuple[Task, ...]:
    folder = real_data("spreadsheetbench/verified_400")
    rows = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return tuple(_workbook(folder / row["spreadsheet_path"], row, n) for n, row in enumerate(rows))


def _workbook(folder: Path, row: dict[str, str], number: int) -> Task:
    given, gold = (min(folder.glob(pattern)) for pattern in ("*init*.xlsx", "*golden*.xlsx"))
    return Task(
        id=f"s{number:03}",
        prompt=row["instruction"],
        split=SPLITS[number % 10],
        files={"input.xlsx": given},
        tests={"gold.xlsx": gold},
        scorer=ScorerSpec(
            "spreadsheet_cells", {"output": "output.xlsx", "gold": "gold.xlsx", "range": row["answer_position"]}
        ),
    )


@cache
def guard(name: str) -> Firewall:
    tasks = {"questions": questions, "workbooks": workbooks}[name]()
    return Firewall.of(TaskSet(tasks, Path("tasks.jsonl")))


@pytest.mark.parametrize("name", ["questions", "workbooks"])
def test_general_rules_all_go_on(name: str) -> None:
    assert {rule: reason for rule in GENERAL if (reason := guard(name).text(rule, SKILL))} == {}


def test_nine_in_ten_answers_are_refused_and_the_rest_are_short_or_common() -> None:
    answers = [
        (task.answer[0], guard("questions").text(f"- In doubt say {task.answer[0]} again.", SKILL))
        for task in questions()
    ]
    assert sum(not reason for _, reason in answers) <= len(answers) // 10


@pytest.mark.parametrize("name", ["questions", "workbooks"])
def test_copied_prompts_are_refused(name: str) -> None:
    rng = random.Random(7)
    passed = 0
    tasks = [task for task in (questions() if name == "questions" else workbooks()) if len(task.prompt.split()) > 24]
    for task in tasks:
        words = task.prompt.split()
        start = rng.randrange(len(words) - 16)
        passed += not guard(name).text("- " + " ".join(words[start : start + 16]), SKILL)
    assert passed <= len(tasks) // 50


def test_what_the_scorer_of_workbooks_says_goes_out_as_it_is() -> None:
    for task in workbooks():
        if task.split == "train":
            where = task.scorer.options["range"]
            said = (
                f"3 of 8 cells wrong in {where}: 2 empty (a formula without a stored value), 1 number instead of text"
            )
            assert guard("workbooks").outgoing(said, task) == said
            assert guard("workbooks").outgoing(f"> {task.prompt}", task, "agent") == f"> {task.prompt}"
