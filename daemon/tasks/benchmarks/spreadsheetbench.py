"""SpreadsheetBench Verified-400: questions of people about their workbooks; the answer is cells of the workbook saved.

Files: `verified_400/dataset.json` and `verified_400/spreadsheet/<id>/` with the initial and the golden workbook. The
names of both vary; a golden workbook that is there under no known name costs its own item.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, Unscorable, text_of
from daemon.tasks.benchmarks.reading import json_rows
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.task import ScorerSpec, Task
from harnesses.harness import ChatTools

INPUT, OUTPUT = "input.xlsx", "output.xlsx"
TOOLS = ChatTools("python", turns=30)
"""As the method's authors give a chat model: scripts of its own, in 30 turns."""
_DOES_NOTHING = "the untouched workbook scores 1 already: its answer cells are read where nothing changes"
_EXCLUDED = "its authors say to leave it out"
KNOWN_BAD = {
    "13-1": _DOES_NOTHING,
    "73-45": _DOES_NOTHING,
    "56225": _EXCLUDED,
    "56274": _EXCLUDED,
    "524-31": "seven golden cells are formulas without a stored value, so that right numbers would score 0",
}
PROMPT = """\
{instruction}

The workbook is {input} (the question may name it otherwise). {kind}The cells that answer the question are {position}.
Do what is asked in that workbook and save it whole as {output} in the same folder, with every other cell as it is.
Only stored values are compared: a formula counts only if the file holds its computed value.
"""
_KINDS = {
    "Cell-Level Manipulation": "It asks for single cells. ",
    "Sheet-Level Manipulation": "It asks for a change of a whole sheet. ",
}


def read(folder: Path) -> Items:
    """Every item."""
    reader = Reader(KNOWN_BAD)
    root = folder / "verified_400"
    for row in json_rows(root / "dataset.json"):
        reader.take(row.get("id", ""), partial(_task, root, row))
    return reader.items()


def _task(root: Path, row: Mapping[str, Any], name: str) -> Task:
    position = text_of(row, "answer_position")
    try:
        parse_ranges(position)
    except ValueError as error:
        raise Unscorable(f"answer_position: {error}") from error
    if str(row["id"]) != name:
        raise Unscorable("has an id that is no folder's name")
    folder = root / "spreadsheet" / name
    kind = str(row.get("instruction_type") or "")
    prompt = PROMPT.format(
        instruction=text_of(row, "instruction"),
        input=INPUT,
        output=OUTPUT,
        position=position.replace("\u00a0", " ").strip(),
        kind=_KINDS.get(kind, ""),
    )
    return Task(
        name,
        prompt,
        ScorerSpec("spreadsheet_cells", {"output": OUTPUT, "gold": "golden.xlsx", "range": position}),
        files={INPUT: _workbook(folder, "init", "initial", "input")},
        tests={"golden.xlsx": _workbook(folder, "golden", "answer")},
        group=kind[:200],
        timeout_s=900.0,
        verifier_timeout_s=300.0,
        tools=TOOLS,
    )


def _workbook(folder: Path, *words: str) -> Path:
    """The one workbook whose name ends in one of the words (`1_39667_golden.xlsx`, `golden.xlsx`, …)."""
    found = [file for word in words for file in sorted(folder.glob(f"*{word}.xlsx"))]
    if len(found) != 1:
        raise Unscorable(f"has {len(found) or 'no'} workbooks named *{words[0]}.xlsx in {folder.name}")
    return found[0]


SPREADSHEETBENCH = Benchmark(
    name="spreadsheetbench",
    title="SpreadsheetBench",
    folder="spreadsheetbench",
    files="verified_400/dataset.json",
    read=read,
    metric="hard",
    source="https://huggingface.co/datasets/KAKA22/SpreadsheetBench (spreadsheetbench_verified_400.tar.gz)",
    licence="CC BY-SA 4.0",
)
