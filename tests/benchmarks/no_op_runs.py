"""Whole runs in which every edit is a no-op: what `strict` and `paired` commit all the same, and what they then report.

`no_op_runs.RULE.accepted` is the accepted steps of 16, `no_op_runs.RULE.bias_points` the reported minus the true score
of the skill that ships, in points. The gates' own figures are under `gate.…`: these confirm them in the whole loop.
"""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Callable, Sequence

from tests.benchmarks.results import Result
from tests.worlds.idle import idle_runs

WORLDS = 60


async def no_op_runs(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    """Both rules in the same worlds."""
    worlds = max(n, WORLDS)
    results: dict[str, Result] = {}
    for rule in ("strict", "paired"):
        say(f"no-op runs: {worlds} simulated worlds under the {rule} gate")
        rows = await asyncio.to_thread(idle_runs, range(worlds), {"gate": rule})
        share = sum(row.accepted for row in rows) / max(1, sum(row.judged for row in rows))
        note = f"{share:.1%} of the steps judged, {statistics.fmean(row.attempts for row in rows):.0f} attempts a run"
        results[f"no_op_runs.{rule}.accepted"] = _mean([row.accepted for row in rows], "steps", note)
        results[f"no_op_runs.{rule}.bias_points"] = _mean([100 * row.bias for row in rows], "points")
    return results


def _mean(values: Sequence[float], unit: str, note: str = "") -> Result:
    error = statistics.stdev(values) / math.sqrt(len(values))
    return Result(statistics.fmean(values), unit, len(values), f"± {error:.2f} {note}".rstrip())
