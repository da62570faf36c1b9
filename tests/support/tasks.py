"""Helpers for tests of task sets and scorers: workbooks, tasks and results in one line each."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from daemon.tasks.formats.found import placed
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.formats.jsonl import scan_jsonl
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import Score, ScorerSpec, Task
from sandboxes.sandbox import Collected

REPOSITORY = Path(__file__).parents[2]
GOLDEN = REPOSITORY / "tests" / "golden" / "tasks"


def real_data(path: str) -> Path:
    """A file or folder of the public benchmark data (`HONED_REAL_DATA`); the test is skipped where it is not."""
    found = Path(os.environ.get("HONED_REAL_DATA", REPOSITORY.parent / "shared" / "data")) / path
    if not found.exists():
        pytest.skip(f"the public benchmark data is not at hand ({path})")
    return found


def sheets(content: Mapping[str, Mapping[str, Any]]) -> bytes:
    """A workbook: sheet name to cell name to value, as openpyxl writes it."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, cells in content.items():
        sheet = book.create_sheet(name)
        for cell, value in cells.items():
            sheet[cell] = value
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def book(**cells: Any) -> bytes:
    """A workbook of one sheet, `Sheet1`."""
    return sheets({"Sheet1": cells})


def task_for(scorer: str, answer: Any = None, **fields: Any) -> Task:
    """A task with a scorer; `options` go to the scorer, other fields to the task."""
    options = fields.pop("options", {})
    return Task(**{"id": "t", "prompt": "p", "answer": answer, **fields, "scorer": ScorerSpec(scorer, options)})


def left(answer: str = "", skipped: tuple[str, ...] = (), **files: bytes) -> Result:
    """What an agent left behind; `report_xlsx=…` stands for the file report.xlsx."""
    named = {name.replace("_", "."): data for name, data in files.items()}
    return Result(final_answer=answer, workspace=Collected(files=named, skipped=skipped))


async def score_answer(scorer: str, gold: Any, answer: str, **options: Any) -> Score:
    """The score of a final answer."""
    return await score_task(task_for(scorer, gold, options=options), left(answer), Context())


def read_jsonl(file: Path) -> list[tuple[str, Task]]:
    """Every task of a tasks.jsonl with its place; the first fault is raised."""
    return list(placed(scan_jsonl(file)))


def read_harbor(path: Path) -> list[tuple[str, Task]]:
    """Likewise of a folder of Harbor tasks."""
    return list(placed(scan_harbor(path)))


def write_rows(file: Path, *rows: Mapping[str, Any]) -> Path:
    """A tasks.jsonl of these rows."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def row(task_id: str, **fields: Any) -> dict[str, Any]:
    """A valid row whose prompt differs by id."""
    return {"id": task_id, "prompt": f"Do {task_id}.", "answer": "yes", "scorer": "exact_match", **fields}
