"""Omni-MATH: olympiad problems whose answer a rule can check; equality is math-verify's.

Files: `omni_math_rule.jsonl` (any `*.jsonl`) with `problem`, `answer`, `difficulty`, `domain`; items have no id, so
their line number is it (from 0, as the set's own tools count).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, text_of, texts_of
from daemon.tasks.benchmarks.reading import json_lines
from daemon.tasks.task import ScorerSpec, Task

KNOWN_BAD = {
    f"row-{number}": "its answer is cut off and no mathematics" for number in ("0183", "0682", "0710", "0894", "1469")
}
"""Of the 2,821 rule-scorable items of `KbsdJames/omni-math-rule`."""
FULL = 2821
PROMPT = """\
Solve the following problem.

{problem}

End your reply with the answer alone in \\boxed{{}}.
"""


def read(folder: Path) -> Items:
    """Every item."""
    rows = [row for file in sorted(folder.glob("*.jsonl")) for row in json_lines(file)]
    reader = Reader(KNOWN_BAD if len(rows) == FULL else {})
    for number, row in enumerate(rows):
        reader.take(f"row-{number:04}", partial(_task, row))
    return reader.items()


def _task(row: Mapping[str, Any], name: str) -> Task:
    domains = row.get("domain") or [""]
    parts = str(domains[0]).split(" -> ")
    return Task(
        name,
        PROMPT.format(problem=text_of(row, "problem")),
        ScorerSpec("math_equal", {"rule": "math_verify"}),
        answer=[_boxed(answer) for answer in texts_of(row, "answer")],
        group=(parts[1] if len(parts) > 1 else parts[0])[:200],
        timeout_s=1200.0,
    )


def _boxed(answer: str) -> str:
    """The library reads what is boxed or between dollars as mathematics, whatever stands around it."""
    return answer if "$" in answer or "\\boxed" in answer else f"${answer}$"


OMNI_MATH = Benchmark(
    name="omni-math",
    title="Omni-MATH",
    folder="omni_math",
    files="*.jsonl",
    read=read,
    metric="hard",
    source="https://github.com/KbsdJames/omni-math-rule",
    licence="none stated for the rule-scorable file",
    ratio=(4, 1, 5),
)
