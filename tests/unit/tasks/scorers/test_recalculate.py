"""Formulas computed before cells are compared, over a fake sandbox that plays LibreOffice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.scorers.recalculate import FAILED, NOT_INSTALLED
from daemon.tasks.scorers.registry import needs_sandbox, score_task
from daemon.tasks.scorers.scorer import Context, VerifierError
from daemon.tasks.task import Score, ScorerSpec, Task
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import Command, Ending
from tests.support.tasks import book, left, task_for

FORMULAS = book(A1="=1+1")
OPTIONS = {"output": "out.xlsx", "gold": "gold.xlsx", "range": "A1:A1"}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    gold = tmp_path / "gold.xlsx"
    gold.write_bytes(book(A1=2))
    return task_for("spreadsheet_cells", options={**OPTIONS, "recalculate": True}, tests={"gold.xlsx": gold})


async def scored(task: Task, folder: Path, answer: FakeAnswer, made: bytes | None = None) -> Score:
    def office(box: FakeBox, command: Command) -> FakeAnswer:
        assert Path(box.layout.workspace, "out.xlsx").read_bytes() == FORMULAS
        assert command.argv[-1] == "out.xlsx"
        assert not list(folder.rglob("gold.xlsx")), "the gold stays out of the box"
        if made is not None:
            Path(box.layout.out, "out.xlsx").write_bytes(made)
        return answer

    scratch = folder / "scratch"
    scratch.mkdir()
    folder = scratch
    return await score_task(task, left(out_xlsx=FORMULAS), Context(FakeSandbox(office), scratch))


async def test_computed_values_are_compared(task: Task, tmp_path: Path) -> None:
    score = await scored(task, tmp_path, FakeAnswer(), book(A1=2))
    assert (score.hard, "note" in score.detail) == (True, False)


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (FakeAnswer(exit_code=3), NOT_INSTALLED),
        (FakeAnswer(exit_code=1), FAILED),
        (FakeAnswer(ending=Ending.DEADLINE, exit_code=None), FAILED),
    ],
)
async def test_without_them_formulas_are_empty(task: Task, tmp_path: Path, answer: FakeAnswer, note: str) -> None:
    score = await scored(task, tmp_path, answer)
    assert (score.hard, score.detail["note"]) == (False, note)
    assert "a formula without a stored value" in score.feedback


async def test_what_libreoffice_makes_is_as_hostile_as_before(task: Task, tmp_path: Path) -> None:
    score = await scored(task, tmp_path, FakeAnswer(), b"no workbook")
    assert (score.hard, score.feedback) == (False, "out.xlsx is not an .xlsx file")


async def test_a_lost_box_is_our_failure(task: Task, tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="computing the formulas was lost"):
        await scored(task, tmp_path, FakeAnswer(ending=Ending.LOST, exit_code=None))


async def test_a_box_is_needed_only_where_it_is_asked_for(task: Task) -> None:
    assert needs_sandbox(task)
    assert not needs_sandbox(replace(task, scorer=ScorerSpec("spreadsheet_cells", OPTIONS)))
    with pytest.raises(VerifierError, match="scorer spreadsheet_cells needs a sandbox"):
        await score_task(task, left(out_xlsx=FORMULAS), Context())
