"""What each part of the method is worth: the sealed-test score with one part switched off, in the same worlds.

`ablation.NAME.test` is the expected score of the skill that ships on the sealed test split (known exactly in a world),
`ablation.NAME.difference` how many points less (negative) or more that is than with everything on, world by world.
Both are of one kind of world for all; `ablation.NAME.own_difference` is of worlds made of what the part is for.
"""

from __future__ import annotations

import asyncio
import math
import statistics
from collections.abc import Sequence

from tests.benchmarks.results import Result
from tests.worlds.ablation import ABLATIONS, Figures, Say, all_figures, difference
from tests.worlds.made_for import MADE_FOR

WORLDS = 60
GENERAL_WORLDS = 160
"""Of the general kind: what a part is worth there is a few points, and worlds differ by twenty."""
_FIRST_SEED = 1_000


async def ablations(n: int, say: Say) -> dict[str, Result]:
    """Every ablation in the same worlds; `n` is raised to what the signs need."""
    seeds = range(_FIRST_SEED, _FIRST_SEED + max(n, WORLDS))
    general = range(_FIRST_SEED, _FIRST_SEED + max(n, GENERAL_WORLDS))
    say(f"ablations: {len(ABLATIONS)} configurations in {len(general)} simulated worlds")
    rows = await asyncio.to_thread(all_figures, ABLATIONS, general, say=say)
    results = {"ablation.untrained.test": _score([row.before for row in rows["default"]])}
    for name, made in rows.items():
        results[f"ablation.{name}.test"] = _score([row.after for row in made], _words(made))
        if name != "default":
            results[f"ablation.{name}.difference"] = _points(rows["default"], made)
    for name, world in MADE_FOR.items():
        runs = {"default": world.train, name: {**world.train, **ABLATIONS[name]}}
        own = await asyncio.to_thread(all_figures, runs, seeds, world.shape)
        results[f"ablation.{name}.own_difference"] = _points(own["default"], own[name])
        say(f"{name}, in worlds made for it: {results[f'ablation.{name}.own_difference'].value:+.1f} points")
    return results


def _points(with_it: Sequence[Figures], without: Sequence[Figures]) -> Result:
    lost = difference(with_it, without)
    return Result(-100 * lost.mean, "points", len(without), f"± {100 * lost.error:.2f} (standard error)")


def _score(values: Sequence[float], note: str = "") -> Result:
    error = statistics.stdev(values) / math.sqrt(len(values))
    return Result(statistics.fmean(values), "score", len(values), f"± {error:.4f} {note}".rstrip())


def _words(rows: Sequence[Figures]) -> str:
    """What is in the skills that ship."""

    def mean(name: str) -> float:
        return statistics.fmean(getattr(row, name) for row in rows)

    rules = f"{mean('helpful'):.1f} helpful, {mean('useless'):.1f} useless, {mean('harmful'):.1f} harmful rules"
    return f"{rules} in {mean('chars'):.0f} characters, {mean('attempts'):.0f} attempts"
