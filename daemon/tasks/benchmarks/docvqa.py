"""DocVQA: questions about a scanned page, scored by ANLS. The page is an image that the model itself must see.

Files: `**/val_v1.0.json` (a list, or an object with `data`), each beside its `documents/` folder, or with `image` as a
path below that file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, Reader, Unscorable, text_of, texts_of
from daemon.tasks.benchmarks.reading import json_rows
from daemon.tasks.task import ScorerSpec, Task

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
PROMPT = """\
The image {image} is a scanned page. Look at it and answer this question about it:

{question}

Copy the answer exactly as it stands on the page, as short as it can be, in the form <answer>…</answer>.
"""


def read(folder: Path) -> Items:
    """Every question of every annotation file."""
    reader = Reader()
    for file in sorted(folder.rglob("val_v1.0*.json")):
        for row in json_rows(file):
            reader.take(row.get("questionId", ""), partial(_task, file.parent, row))
    return reader.items()


def _task(folder: Path, row: Mapping[str, Any], name: str) -> Task:
    image = folder / text_of(row, "image")
    if image.suffix.lower() not in SUFFIXES or not image.resolve().is_relative_to(folder.resolve()):
        raise Unscorable(f"its image {image.name} is none")
    if not image.is_file():
        raise Unscorable(f"its image {image.name} is not here")
    shown = f"page{image.suffix.lower()}"
    return Task(
        name,
        PROMPT.format(image=shown, question=text_of(row, "question")),
        ScorerSpec("anls"),
        files={shown: image},
        answer=texts_of(row, "answers"),
        timeout_s=300.0,
    )


DOCVQA = Benchmark(
    name="docvqa",
    title="DocVQA",
    folder="docvqa",
    files="**/val_v1.0*.json",
    read=read,
    metric="soft",
    source="https://www.docvqa.org/datasets/docvqa",
    licence="none stated: registration with the Robust Reading Competition",
)
