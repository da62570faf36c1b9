"""SearchQA: a trivia clue and search snippets; the shortest answer, scored by SQuAD's exact match (soft: token F1).

Files: `searchqa_split/<any>/items.json` (lists of `id`, `question`, `context`, `answers`), as the method's authors
materialise them, or one `searchqa.jsonl` with `key` for the id, as the public set has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, text_of, texts_of
from daemon.tasks.benchmarks.reading import json_lines, json_rows
from daemon.tasks.task import ScorerSpec, Task

PROMPT = """\
Answer the clue from the search results below it.

Clue: {question}

Search results:
{context}

Give the answer, and nothing else, as the last line of your reply in the form <answer>…</answer>.
"""


def read(folder: Path) -> Items:
    """Every item, each file in the order of its name."""
    reader = Reader()
    for row in _rows(folder):
        reader.take(row.get("id", row.get("key", "")), partial(_task, row))
    return reader.items()


def _rows(folder: Path) -> Iterator[Mapping[str, Any]]:
    for file in sorted(folder.glob("searchqa_split/*/items.json")):
        yield from json_rows(file)
    for file in sorted(folder.glob("searchqa*.jsonl")):
        yield from json_lines(file)


def _task(row: Mapping[str, Any], name: str) -> Task:
    prompt = PROMPT.format(question=text_of(row, "question"), context=text_of(row, "context"))
    return Task(name, prompt, ScorerSpec("token_f1"), answer=texts_of(row, "answers"), timeout_s=300.0)


SEARCHQA = Benchmark(
    name="searchqa",
    title="SearchQA",
    folder="searchqa",
    files="searchqa*/**/items.json",
    read=read,
    metric="hard",
    source="https://huggingface.co/datasets/lucadiliello/searchqa",
    licence="none stated for the data",
)
