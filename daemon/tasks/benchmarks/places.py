"""Where the data of benchmarks is looked for: the folder that is named, else `$HONED_BENCH_DATA`, else `bench-data`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from daemon.tasks.benchmarks.benchmark import Benchmark
from daemon.tasks.task import TaskError

VARIABLE = "HONED_BENCH_DATA"
DEFAULT = "bench-data"
"""In the current folder."""


def data_folder(named: Path | None, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder that holds one folder a benchmark; need not exist."""
    return (named or Path(environment.get(VARIABLE) or DEFAULT)).absolute()


def present(one: Benchmark, root: Path) -> bool:
    """Whether anything of the benchmark is there."""
    return next((root / one.folder).glob(one.files), None) is not None


def need(one: Benchmark, root: Path) -> Path:
    """The benchmark's own folder; raises `TaskError` saying where its data is expected and what there is to try."""
    if not present(one, root):
        raise TaskError(
            f"{root / one.folder}: has no {one.files}: {one.title}'s data is not here; docs/benchmarks.md says how to "
            f"get it (then name its folder by --data or ${VARIABLE}), and --sample takes a few made-up items"
        )
    return root / one.folder
