"""OfficeQA: questions about U.S. Treasury Bulletins, whose parsed text lies in the workspace.

Files: `officeqa*.csv` with `uid`, `question`, `answer`, `source_files`, and `treasury_bulletins/*.txt`. The full set's
answers are gated by its authors; nothing here fetches them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, Unscorable, text_of
from daemon.tasks.task import ScorerSpec, Task, TaskError
from harnesses.harness import ChatTools

DOCUMENTS = "treasury_bulletins"
TOOLS = ChatTools("files", turns=24)
"""Bulletins are far longer than what a model could be shown; 24 turns, as the method's authors give."""
PROMPT = """\
Answer the question from the Treasury Bulletin text{s} in this folder: {files}.

{question}

End your reply with the answer alone, in the form <FINAL_ANSWER>…</FINAL_ANSWER>.
"""


def read(folder: Path) -> Items:
    """Every question of every CSV file."""
    reader = Reader()
    for file in sorted(folder.glob("officeqa*.csv")):
        for row in _rows(file):
            reader.take(row.get("uid", ""), partial(_task, folder, row))
    return reader.items()


def _rows(file: Path) -> list[Mapping[str, Any]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            return list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TaskError(f"{file}: is no CSV ({error}): fetch it again") from error


def _task(folder: Path, row: Mapping[str, Any], name: str) -> Task:
    names = text_of(row, "source_files").split()
    missing = [one for one in names if not (folder / DOCUMENTS / one).is_file() or "/" in one]
    if missing:
        raise Unscorable(f"its document {missing[0]} is not in {DOCUMENTS}/")
    answer = text_of(row, "answer")
    return Task(
        name,
        PROMPT.format(question=text_of(row, "question"), files=", ".join(names), s="s" * (len(names) > 1)),
        ScorerSpec("officeqa"),
        files={one: folder / DOCUMENTS / one for one in names},
        answer=answer,
        group=str(row.get("difficulty") or row.get("category") or "")[:200],
        timeout_s=900.0,
        tools=TOOLS,
    )


OFFICEQA = Benchmark(
    name="officeqa",
    title="OfficeQA",
    folder="officeqa",
    files="officeqa*.csv",
    read=read,
    metric="hard",
    source="https://github.com/databricks/officeqa (answers: gated, on Hugging Face)",
    licence="questions CC BY-SA 4.0, documents public domain",
)
