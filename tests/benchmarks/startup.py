"""How long the command line takes to be there."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.benchmarks.bare import BenchError
from tests.benchmarks.results import Result


async def startup(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    """`honed.startup_s`: median wall of `honed --version`, beside that of a Python that does nothing."""
    honed, python = [], []
    for turn in range(n + 1):
        pair = (
            await _wall(str(Path(sys.executable).with_name("honed")), "--version"),
            await _wall(sys.executable, "-c", ""),
        )
        say(f"honed --version {turn or 'warm-up'}: {pair[0]:.3f} s")
        if turn:
            honed.append(pair[0])
            python.append(pair[1])
    note = f"{min(honed):.3f}-{max(honed):.3f}, python alone {median(python):.3f}"
    return {"honed.startup_s": Result(median(honed), "s", n, note)}


async def _wall(*argv: str) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.DEVNULL)
    if await process.wait() != 0:
        message = f"{argv[0]} ended with exit code {process.returncode}"
        raise BenchError(message)
    return time.perf_counter() - began
