"""Benchmark folders that a test writes, and what a perfect and an idle agent leave for a task."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from daemon.tasks.benchmarks.benchmark import Items
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score, Task
from harnesses.episode import EpisodeStatus
from sandboxes.sandbox import Collected


def put_json(file: Path, plain: Any) -> Path:
    """Write a JSON file, its folders too."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(plain), encoding="utf-8")
    return file


def put_lines(file: Path, rows: Sequence[Any]) -> Path:
    """Write a JSON Lines file; a text is a line as it is."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def read(name: str, root: Path) -> Items:
    """What a benchmark's module reads below a data folder."""
    one = benchmark(name)
    return one.read(root / one.folder)


def left_out(items: Items) -> dict[str, str]:
    """Id to reason."""
    return {one.id: one.why for one in items.left_out}


async def gold_score(task: Task) -> Score:
    """The score of an agent that gives the expected answer."""
    if task.scorer.name == "spreadsheet_cells":
        gold = task.tests[str(task.scorer.options["gold"])].read_bytes()
        return await score_task(task, Result("Done.", Collected({str(task.scorer.options["output"]): gold})))
    if task.scorer.name == "episode_won":
        return await score_task(task, Result(episode=EpisodeStatus(won=True, over=True, commands=9, moves=9)))
    return await score_task(task, Result(gold_answer(task)))


async def idle_score(task: Task) -> Score:
    """The score of an agent that hands back what it was given, and says nothing."""
    files = task.file_bytes()
    if task.scorer.name == "spreadsheet_cells":
        files[str(task.scorer.options["output"])] = files["input.xlsx"]
    return await score_task(task, Result("", Collected(files), EpisodeStatus()))


def gold_answer(task: Task) -> str:
    """A final message with the expected answer."""
    first = task.answer[0] if isinstance(task.answer, list) else task.answer
    if task.scorer.name == "math_equal":
        return f"\\boxed{{{str(first).strip('$')}}}" if task.scorer.options["rule"] == "olympiad" else str(first)
    tag = "FINAL_ANSWER" if task.scorer.name == "officeqa" else "answer"
    return f"It is as follows.\n<{tag}>{first}</{tag}>"
