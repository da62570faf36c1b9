"""Benchmarks on the public data, where it is at hand: counts, published digests, golds, idle agents."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from daemon.tasks.benchmarks.bench_set import BenchSet, open_bench
from daemon.tasks.benchmarks.catalogue import BENCHMARKS
from daemon.tasks.episodes.engines import ENGINES, missing
from daemon.tasks.published import PUBLISHED
from tests.support.benchmarks import gold_score, idle_score
from tests.support.tasks import real_data

HERE = {
    "searchqa": (400, 200, 0),
    "spreadsheetbench": (79, 40, 276),
    "officeqa": (1, 1, 8),
    "docvqa": (0, 0, 2),
    "livemathematicianbench": (35, 17, 125),
    "olympiadbench": (269, 67, 337),
    "omni-math": (1124, 281, 1406),
}
LEFT_OUT = {
    "spreadsheetbench": ["13-1", "524-31", "56225", "56274", "73-45"],
    "olympiadbench": ["1965", "2349"],
    "omni-math": [f"row-{row}" for row in ("0183 0682 0710 0894 1469 2505 2542 2585 2722 2746").split()],
}
SAMPLED = 4
"""Golds tried of each: all were tried once, and scorers are tried on all data elsewhere."""


def opened(name: str) -> BenchSet:
    root = real_data(".")
    real_data(BENCHMARKS[name].folder)
    for engine in ENGINES:
        if engine == name and (needed := missing(engine)):
            pytest.skip(f"the engine of its games {needed}")
    return _opened(name, root)


@functools.cache
def _opened(name: str, root: Path) -> BenchSet:
    """Two tests look at each."""
    return open_bench(BENCHMARKS[name], root)


@pytest.mark.parametrize("name", HERE)
def test_every_item_is_read_or_named(name: str) -> None:
    found = opened(name)
    assert tuple(found.tasks.sizes().values()) == HERE[name]
    assert [one.id for one in found.left_out] == LEFT_OUT.get(name, [])
    assert found.unlisted == (20 if name == "docvqa" else 0)


@pytest.mark.parametrize("name", [name for name, one in BENCHMARKS.items() if one.title in PUBLISHED])
def test_the_split_is_the_published_one(name: str) -> None:
    found = opened(name)
    assert (found.manifest.how, found.manifest.published) == ("published", True)
    assert found.manifest.digest == PUBLISHED[BENCHMARKS[name].title]


@pytest.mark.parametrize("name", HERE)
async def test_golds_score_1_and_doing_nothing_0(name: str) -> None:
    found = open_bench(BENCHMARKS[name], real_data("."), ratio=(1, 1, 1))
    tasks = found.tasks.tasks[:: max(1, len(found.tasks.tasks) // SAMPLED)]
    assert {task.id: (await gold_score(task)).value for task in tasks} == dict.fromkeys((t.id for t in tasks), 1.0)
    assert not [task.id for task in tasks if (await idle_score(task)).hard]
