"""What the sandbox costs: seconds an attempt, and attempts a minute, each beside the bare CLI.

The two ways take turns (A B A B) in one run, after a warm-up, so that whatever else the machine does weighs on both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from statistics import median

from harnesses.clis import CliName
from tests.benchmarks.bench import Contender, contenders
from tests.benchmarks.results import Result

Run = Callable[[], Awaitable[float]]
Say = Callable[[str], None]
WORKERS = (1, 2, 4)
SUFFIXES: Mapping[CliName, str] = {"codex": "", "claude": ".claude"}
"""Of the names of a CLI's results."""
BATCH = 4
"""Attempts of one batch of the throughput measurement: the largest number of workers, so that all are busy."""


async def overhead(n: int, say: Say) -> dict[str, Result]:
    """`sandbox.overhead_s` and its ratio for Codex; the same with `.claude` for Claude Code. `n` pairs each."""
    results: dict[str, Result] = {}
    async with contenders() as both:
        for name, suffix in SUFFIXES.items():
            pairs = await _take_turns(both[name], n, say)
            results |= _overhead(suffix, *pairs)
    return results


async def attempts_per_min(n: int, say: Say, workers: Sequence[int] = WORKERS) -> dict[str, Result]:
    """`sandbox.attempts_per_min.N` for Codex and its ratio to the bare CLI, N workers, about `n` attempts each way."""
    results: dict[str, Result] = {}
    async with contenders() as both:
        codex = both["codex"]
        await _take_turns(codex, 0, say)
        for number in workers:
            results |= await _throughput(codex, number, n, say)
    return results


async def _take_turns(contender: Contender, n: int, say: Say) -> tuple[list[float], list[float]]:
    """Wall times (sandboxed, bare) of `n` pairs after one that does not count."""
    sandboxed, bare = [], []
    for turn in range(n + 1):
        pair = await contender.sandboxed(), await contender.bare()
        say(f"{contender.cli.name} {turn or 'warm-up'}: sandboxed {pair[0]:.3f} s, bare {pair[1]:.3f} s")
        if turn:
            sandboxed.append(pair[0])
            bare.append(pair[1])
    return sandboxed, bare


def _overhead(suffix: str, sandboxed: Sequence[float], bare: Sequence[float]) -> dict[str, Result]:
    n = len(sandboxed)
    both = median(sandboxed), median(bare)
    note = f"sandboxed {_spread(sandboxed)}, bare {_spread(bare)}"
    return {
        f"sandbox.overhead_s{suffix}": Result(both[0] - both[1], "s", n, note),
        f"sandbox.overhead_s{suffix}.ratio": Result(both[0] / both[1], "ratio", n, "of the bare CLI's wall"),
    }


async def _throughput(codex: Contender, workers: int, n: int, say: Say) -> dict[str, Result]:
    rounds = max(1, round(n / BATCH))
    sandboxed = bare = 0.0
    for turn in range(rounds):
        walls = await _batch(codex.sandboxed, workers), await _batch(codex.bare, workers)
        say(f"{workers} workers, round {turn + 1}: {BATCH} sandboxed {walls[0]:.2f} s, bare {walls[1]:.2f} s")
        sandboxed, bare = sandboxed + walls[0], bare + walls[1]
    done = rounds * BATCH
    name = f"sandbox.attempts_per_min.{workers}"
    note = f"bare {60 * done / bare:.1f}"
    return {
        name: Result(60 * done / sandboxed, "1/min", done, note),
        f"{name}.ratio": Result(bare / sandboxed, "ratio", done, "of the bare CLI's rate"),
    }


async def _batch(run: Run, workers: int) -> float:
    """Wall seconds of `BATCH` attempts with this many workers."""
    free = asyncio.Semaphore(workers)

    async def one() -> None:
        async with free:
            await run()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for _ in range(BATCH):
            group.create_task(one())
    return time.perf_counter() - began


def _spread(walls: Sequence[float]) -> str:
    return f"{median(walls):.3f} ({min(walls):.3f}-{max(walls):.3f})"
