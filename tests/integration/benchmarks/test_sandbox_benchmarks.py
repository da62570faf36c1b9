"""The benchmarks with the real engine and CLIs, one measurement each: whole and sane, no time asserted."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from tests.benchmarks.results import Result
from tests.benchmarks.sandbox import BATCH, attempts_per_min, overhead
from tests.benchmarks.startup import startup
from tests.support.agents import installed
from tests.support.sandboxes import docker_image

Say = Callable[[str], None]
UNITS = {"": "s", ".ratio": "ratio"}
OVERHEAD = {f"sandbox.overhead_s{cli}{end}": unit for cli in ("", ".claude") for end, unit in UNITS.items()}
RATES = {"sandbox.attempts_per_min.2": "1/min", "sandbox.attempts_per_min.2.ratio": "ratio"}


@pytest.mark.docker
@pytest.mark.clis
@pytest.mark.slow
@pytest.mark.parametrize(
    ("benchmark", "units", "n"),
    [(overhead, OVERHEAD, 1), (partial(attempts_per_min, workers=(2,)), RATES, BATCH)],
    ids=["overhead", "rates"],
)
async def test_one_measurement_each(
    benchmark: Callable[[int, Say], Awaitable[dict[str, Result]]], units: dict[str, str], n: int
) -> None:
    docker_image()
    installed("codex")
    installed("claude")
    said: list[str] = []
    results = await benchmark(1, said.append)
    assert {name: result.unit for name, result in results.items()} == units
    assert {result.n for result in results.values()} == {n}
    assert all(math.isfinite(result.value) for result in results.values())
    assert all(result.value > 0 for result in results.values() if result.unit != "s")
    assert any("sandboxed" in line and "bare" in line for line in said)


async def test_startup_is_measured_beside_python_alone() -> None:
    results = await startup(1, lambda _: None)
    assert (results["honed.startup_s"].unit, results["honed.startup_s"].n) == ("s", 1)
    assert results["honed.startup_s"].value > 0
    assert "python alone" in results["honed.startup_s"].note
