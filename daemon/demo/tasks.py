"""The toy task set: real workbooks in the spirit of SpreadsheetBench, and the skill it starts from.

Invariants: the same seed writes the same bytes; each split holds every trap family, and some tasks that need no rule.
"""

from __future__ import annotations

import json
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

from daemon.demo.demo_set import DemoSet, Knobs
from daemon.demo.puzzles import Plan, Puzzle, make
from daemon.demo.wordings import OUTPUT, Kind, render
from daemon.demo.workbooks import workbook_bytes

SKILL = "spreadsheets"

_TOTAL, _COUNT, _LOOKUP, _PRODUCT, _TIDY = Kind.TOTAL, Kind.COUNT, Kind.LOOKUP, Kind.PRODUCT, Kind.TIDY

PLANS: dict[str, tuple[Plan, ...]] = {
    "train": (
        Plan(_TOTAL),
        Plan(_TIDY, target_first=True),
        Plan(_TOTAL, ("formula",)),
        Plan(_COUNT, ("formula", "gap")),
        Plan(_LOOKUP, ("formula",)),
        Plan(_PRODUCT, ("formula", "gap"), target_first=True),
        Plan(_COUNT, ("gap",)),
        Plan(_TIDY, ("gap",)),
        Plan(_TOTAL, ("abbreviation",)),
        Plan(_LOOKUP, ("keys",)),
        Plan(_TOTAL, ("keys", "sheet")),
        Plan(_COUNT, ("keys",), target_first=True),
        Plan(_PRODUCT, ("sheet",)),
        Plan(_COUNT, ("sheet",), target_first=True),
        Plan(_LOOKUP, ("sheet",)),
        Plan(_TOTAL, ("abbreviation",)),
    ),
    "selection": (
        Plan(_PRODUCT),
        Plan(_COUNT, target_first=True),
        Plan(_TOTAL, ("formula",)),
        Plan(_TIDY, ("formula",)),
        Plan(_LOOKUP, ("gap",)),
        Plan(_TOTAL, ("gap",)),
        Plan(_LOOKUP, ("keys",)),
        Plan(_COUNT, ("keys", "formula")),
        Plan(_TOTAL, ("sheet",), target_first=True),
        Plan(_PRODUCT, ("sheet",)),
        Plan(_COUNT, ("gap", "sheet")),
        Plan(_TOTAL, ("abbreviation",)),
    ),
    "test": (
        Plan(_LOOKUP),
        Plan(_TIDY, target_first=True),
        Plan(_COUNT, ("formula",)),
        Plan(_PRODUCT, ("formula",)),
        Plan(_TIDY, ("gap",)),
        Plan(_COUNT, ("gap",)),
        Plan(_TOTAL, ("keys",)),
        Plan(_LOOKUP, ("keys", "formula")),
        Plan(_LOOKUP, ("sheet",), target_first=True),
        Plan(_TOTAL, ("sheet",)),
        Plan(_PRODUCT, ("gap", "sheet")),
        Plan(_TOTAL, ("abbreviation",)),
    ),
}


def write_demo(folder: Path, *, seed: int = 11) -> DemoSet:
    """Write tasks.jsonl, workbooks, gold workbooks and the initial skill into `folder` (made if missing)."""
    tasks_folder = folder / "tasks"
    rows: list[dict[str, Any]] = []
    for split, plans in PLANS.items():
        for number, plan in enumerate(plans, start=1):
            rng = random.Random(f"{seed}/{split}/{number}")  # noqa: S311 - reproducible on purpose
            puzzle = make(plan, rng)
            row = _write_files(tasks_folder, f"{split}-{number:02}", puzzle)
            rows.append(
                {**row, "split": split, "group": plan.group, "prompt": render(puzzle.request, rng.randrange(60))}
            )
    lines = [json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows]
    tasks = tasks_folder / "tasks.jsonl"
    tasks.write_text("".join(lines), encoding="utf-8")
    sizes = {split: len(plans) for split, plans in PLANS.items()}
    return DemoSet(folder, tasks, write_skill(folder, SKILL), SKILL, sizes, Knobs())


def write_skill(folder: Path, name: str) -> Path:
    """Copy a packaged initial skill to `folder`/skills/`name`; gives the `skills` folder."""
    source = files("daemon.demo") / "skills" / name / "SKILL.md"
    target = folder / "skills" / name / "SKILL.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())
    return folder / "skills"


def _write_files(folder: Path, task: str, puzzle: Puzzle) -> dict[str, Any]:
    """Both workbooks, and the part of the task's row that names them."""
    given, gold = Path("files") / task / puzzle.request.book, Path("gold") / f"{task}.xlsx"
    for path, book in ((given, puzzle.given), (gold, puzzle.gold)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(workbook_bytes(book))
    return {
        "id": task,
        "files": {puzzle.request.book: given.as_posix()},
        "tests": {"gold.xlsx": gold.as_posix()},
        "scorer": {
            "name": "spreadsheet_cells",
            "output": OUTPUT,
            "gold": "gold.xlsx",
            "range": puzzle.request.cells,
        },
    }
