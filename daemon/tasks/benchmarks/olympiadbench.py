"""OlympiadBench: open-ended competition mathematics in English, scored by its own judge.

Files: `test.jsonl` with `id`, `question`, `final_answer`, `error` and the like, one item a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, text_of, texts_of
from daemon.tasks.benchmarks.reading import json_lines
from daemon.tasks.task import ScorerSpec, Task

KNOWN_BAD = dict.fromkeys(("1965", "2349"), "its answer is cut off, so that the official judge refuses it as well")
PROMPT = """\
Solve the following competition problem.{several}

{question}

End your reply with the line: So the final answer is \\boxed{{answer}}.{unit}
"""
_SEVERAL = " It has several answers: give them all in one box, separated by commas."
_UNIT = " Leave out the unit ({})."


def read(folder: Path) -> Items:
    """Every item."""
    reader = Reader(KNOWN_BAD)
    for file in sorted(folder.glob("*.jsonl")):
        for row in json_lines(file):
            reader.take(row.get("id", ""), partial(_task, row))
    return reader.items()


def _task(row: Mapping[str, Any], name: str) -> Task:
    context = row.get("context")
    question = text_of(row, "question")
    if isinstance(context, str) and context.strip():
        question = f"{context.strip()}\n\n{question}"
    several = _SEVERAL if row.get("is_multiple_answer") else ""
    unit = _UNIT.format(row["unit"]) if row.get("unit") else ""
    options: dict[str, Any] = {"rule": "olympiad", **_precision(row.get("error"))}
    return Task(
        name,
        PROMPT.format(question=question, several=several, unit=unit),
        ScorerSpec("math_equal", options),
        answer=texts_of(row, "final_answer"),
        group=str(row.get("subfield") or "")[:200],
        timeout_s=1200.0,
    )


def _precision(error: Any) -> dict[str, Any]:
    """How far numbers may lie apart, where the item says so; one for each piece of the answer."""
    if not error:
        return {}
    return {"precision": [float(one) for one in str(error).split(",")]}


OLYMPIADBENCH = Benchmark(
    name="olympiadbench",
    title="OlympiadBench",
    folder="olympiadbench",
    files="*.jsonl",
    read=read,
    metric="hard",
    source="https://github.com/OpenBMB/OlympiadBench",
    licence="MIT",
    ratio=(4, 1, 5),
)
