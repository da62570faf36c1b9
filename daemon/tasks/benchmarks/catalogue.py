"""Every benchmark by name."""

from __future__ import annotations

from types import MappingProxyType

from daemon.tasks.benchmarks.alfworld import ALFWORLD
from daemon.tasks.benchmarks.benchmark import Benchmark
from daemon.tasks.benchmarks.docvqa import DOCVQA
from daemon.tasks.benchmarks.livemathematicianbench import LIVEMATHEMATICIANBENCH
from daemon.tasks.benchmarks.officeqa import OFFICEQA
from daemon.tasks.benchmarks.olympiadbench import OLYMPIADBENCH
from daemon.tasks.benchmarks.omni_math import OMNI_MATH
from daemon.tasks.benchmarks.searchqa import SEARCHQA
from daemon.tasks.benchmarks.spreadsheetbench import SPREADSHEETBENCH
from daemon.tasks.task import TaskError

BENCHMARKS: MappingProxyType[str, Benchmark] = MappingProxyType(
    {
        one.name: one
        for one in (
            SEARCHQA,
            SPREADSHEETBENCH,
            OFFICEQA,
            DOCVQA,
            LIVEMATHEMATICIANBENCH,
            OLYMPIADBENCH,
            OMNI_MATH,
            ALFWORLD,
        )
    }
)
"""In the order in which they are listed."""


def benchmark(name: str) -> Benchmark:
    """The benchmark of this name; raises `TaskError` listing the names there are."""
    if name not in BENCHMARKS:
        raise TaskError(f"there is no benchmark {name!r}: use one of {', '.join(BENCHMARKS)}, or `list`")
    return BENCHMARKS[name]
