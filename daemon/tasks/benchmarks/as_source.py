"""A benchmark as the task set of a honed.toml: `[tasks] path = "bench:NAME"`, with the benchmark's own splits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.benchmarks.places import DEFAULT, VARIABLE
from daemon.tasks.formats.found import Found

PREFIX = "bench:"


def bench_name(path: Path) -> str | None:
    """NAME of `bench:NAME`; None for other paths."""
    return path.name.removeprefix(PREFIX) if path.name.startswith(PREFIX) and not path.exists() else None


def scan_bench(name: str, beside: Path) -> Iterator[Found]:
    """Every task that can be scored, by id; the data is in the variable's folder, else in one `beside` the file.

    Raises `TaskError` if there is no such benchmark, or its data is not here.
    """
    root = Path(os.environ.get(VARIABLE) or beside / DEFAULT)
    for task in open_bench(benchmark(name), root).tasks.tasks:
        yield Found(f"{PREFIX}{name}: {task.id}", task)
