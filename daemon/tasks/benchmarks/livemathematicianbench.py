"""LiveMathematicianBench: multiple-choice questions on theorems of recent papers.

The files put the right choice first and apart from the others, under "A" each time. Shown so, "A" would always be
right: all choices are shuffled together, by item id and seed, and lettered anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, Unscorable, text_of
from daemon.tasks.benchmarks.reading import json_rows
from daemon.tasks.task import ScorerSpec, Task

SEED = 42
LETTERS = "ABCDEFGHIJ"
PROMPT = """\
{question}

{choices}

Exactly one choice is right. End your reply with its letter alone, in the form <answer>X</answer>.
"""


def read(folder: Path) -> Items:
    """Every item of every month; its id is `<month>-<number>`."""
    reader = Reader()
    for file in sorted(folder.glob("data/*/qa_*_final.json")):
        for row in json_rows(file):
            month = row.get("month") or file.parent.name
            reader.take(f"{month}:{row.get('no', '')}", partial(_task, row))
    return reader.items()


def shuffled(name: str, texts: Sequence[str], seed: int = SEED) -> list[str]:
    """The texts in an order that depends on the item, the seed and the texts alone."""

    def place(text: str) -> bytes:
        return hashlib.sha256(f"{seed}\0{name}\0{text}".encode()).digest()

    return sorted(texts, key=place)


def _task(row: Mapping[str, Any], name: str) -> Task:
    question = row.get("mcq")
    if not isinstance(question, dict):
        raise Unscorable("has no question")
    right = text_of(question["correct_choice"], "text")
    texts = [right, *(text_of(choice, "text") for choice in question["choices"])]
    if len(set(texts)) < len(texts) or not 2 <= len(texts) <= len(LETTERS):
        raise Unscorable("has choices that are the same, too few or too many")
    choices = dict(zip(LETTERS, shuffled(name, texts), strict=False))
    label = next(letter for letter, text in choices.items() if text == right)
    shown = "\n".join(f"{letter}. {text}" for letter, text in choices.items())
    kinds = row.get("theorem_type") or [""]
    return Task(
        name,
        PROMPT.format(question=text_of(question, "question"), choices=shown),
        ScorerSpec("multiple_choice", {"choices": choices}),
        answer=label,
        group=str(kinds[0])[:200],
        timeout_s=1200.0,
    )


LIVEMATHEMATICIANBENCH = Benchmark(
    name="livemathematicianbench",
    title="LiveMathematicianBench",
    folder="livemathematicianbench",
    files="data/*/qa_*_final.json",
    read=read,
    metric="hard",
    source="https://huggingface.co/datasets/LiveMathematicianBench/LiveMathematicianBench",
    licence="none stated",
)
