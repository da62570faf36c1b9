"""How long `honed log` takes to read a thousand accepted steps, beside git's own log of the same commits."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.benchmarks.results import Result
from tests.support.history import PATH, long_history, skill_project

STEPS = 1_000


async def log(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    """`honed.log_1000_steps_s`: median wall of the whole command; the note has git alone and the ratio."""
    with tempfile.TemporaryDirectory(prefix="honed-bench-") as place:
        folder = Path(place, "project")
        skill_project(folder)
        head = long_history(folder, STEPS)
        honed, git = [], []
        for turn in range(n + 1):
            pair = (
                _wall(folder, str(Path(sys.executable).with_name("honed")), "log", "--json"),
                _wall(folder, "git", "log", "--format=%H%B", head, "--", PATH),
            )
            say(f"honed log of {STEPS} steps {turn or 'warm-up'}: {pair[0]:.3f} s")
            if turn:
                honed.append(pair[0])
                git.append(pair[1])
    ratio = median(honed) / median(git)
    note = f"{min(honed):.3f}-{max(honed):.3f}, git alone {median(git):.3f}: {ratio:.1f} times"
    return {f"honed.log_{STEPS}_steps_s": Result(median(honed), "s", n, note)}


def _wall(folder: Path, *argv: str) -> float:
    began = time.perf_counter()
    subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - began
