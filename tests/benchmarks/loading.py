"""The processor time that a hundred thousand tasks take to load, beside plain JSON parsing; what they hold; and a run.

A run holds more than a loaded set: the feedback firewall indexes every run of words of the whole set. What each further
task adds is measured, for the words themselves are held once.
"""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

from daemon.optimizer.firewall import Firewall
from daemon.tasks.load import load_tasks
from tests.benchmarks.results import Result

TASKS = 100_000
WORDS = 60
"""Of a prompt."""
RUNS = (500, 2_000)
"""Tasks of the sets whose runs are measured."""


async def loading(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    """`tasks.load_s`, its ratio to `json.loads` of every line, and the bytes a task holds, loaded and in a run."""
    return await asyncio.to_thread(_measure, min(n, 3), say)


def _measure(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    with tempfile.TemporaryDirectory(prefix="honed-bench-") as folder:
        file = _write(Path(folder) / "tasks.jsonl", WORDS)
        loads, plain = [], []
        for turn in range(n):
            plain.append(_plain_s(file))
            loads.append(_load_s(file))
            say(f"{TASKS:,} tasks {turn + 1}: {loads[-1]:.2f} s, plain JSON {plain[-1]:.2f} s")
        Firewall.of(load_tasks(_write(Path(folder) / "warm.jsonl", WORDS, max(RUNS))))  # fills what all runs share
        runs = [_held_in_run(_write(Path(folder) / f"run-{tasks}.jsonl", WORDS, tasks)) for tasks in RUNS]
        held = [_held(_write(Path(folder) / f"{words}.jsonl", words)) for words in (WORDS, 4 * WORDS)]
    note = f"{TASKS:,} tasks, {min(loads):.2f}-{max(loads):.2f}, plain JSON {median(plain):.2f}"
    grows = f"{held[1] / TASKS:.0f} with prompts four times as long"
    return {
        "tasks.load_s": Result(median(loads), "s", n, note),
        "tasks.load_ratio": Result(median(load / one for load, one in zip(loads, plain, strict=True)), "ratio", n),
        "tasks.held_bytes": Result(held[0] / TASKS, "B", 1, f"a task; {grows}"),
        "tasks.run_bytes": Result(
            (runs[1] - runs[0]) / (RUNS[1] - RUNS[0]),
            "B",
            1,
            f"each further task; {RUNS[1]:,} hold {runs[1] / 1e6:.1f} MB, {RUNS[0]:,} {runs[0] / 1e6:.1f} MB",
        ),
    }


def _held_in_run(file: Path) -> int:
    """Bytes that a run's firewall keeps, once it was asked."""
    loaded = load_tasks(file)
    tracemalloc.start()
    try:
        firewall = Firewall.of(loaded)
        firewall.outgoing("What is said of an attempt is looked up in the index.", loaded.split("train")[0])
        held, _ = tracemalloc.get_traced_memory()
        assert not firewall.left_out
        return held
    finally:
        tracemalloc.stop()


def _write(file: Path, words: int, tasks: int = TASKS) -> Path:
    random_ = random.Random(1)
    vocabulary = [f"word{number}" for number in range(5_000)]
    with file.open("w", encoding="utf-8") as stream:
        for number in range(tasks):
            prompt = f"Question {number}: {' '.join(random_.choices(vocabulary, k=words))}"
            row = {"id": f"t-{number}", "prompt": prompt, "answer": "yes", "scorer": "exact_match"}
            stream.write(json.dumps(row | {"group": f"g{number % 20}"}) + "\n")
    return file


def _plain_s(file: Path) -> float:
    began = time.process_time()
    with file.open("rb") as stream:
        for line in stream:
            json.loads(line)
    return time.process_time() - began


def _load_s(file: Path) -> float:
    began = time.process_time()
    load_tasks(file)
    return time.process_time() - began


def _held(file: Path) -> int:
    """Bytes that a loaded set keeps."""
    tracemalloc.start()
    try:
        loaded = load_tasks(file)
        held, _ = tracemalloc.get_traced_memory()
        assert len(loaded.tasks) == TASKS
        return held
    finally:
        tracemalloc.stop()
