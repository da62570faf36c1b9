"""How surprising a candidate's lead would be if it changed nothing: an exact stratified permutation test.

If a task passes as often under both skills, its trials may be dealt to the two arms in any way: given the values seen,
every deal is equally likely. A task's statistic is a signed power of its likelihood ratio, so a change that chance
hardly makes weighs more than one it often makes. The distribution of the weighted sum over tasks follows by
convolution: no variance is estimated, no random number drawn, and tasks whose trials are all alike drop out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

_POWER = 0.75
"""Of the log likelihood ratio. Measured: the root (0.5) finds concentrated gains less often; the ratio itself (1) lets
candidates through that fix some tasks and break as many."""
_GRID = 100
"""Values count in hundredths."""
_COARSE_GRID, _MANY = 20, 12
"""The same for tasks with more trials than this, unless all are 0 or 1."""
_CELLS, _COARSE_CELLS, _ATOMS = 128, 32, 16
"""Cells of the convolution's grid in one standard deviation; the coarse one where a task has more values than this.

What is seen is rounded as its law is, so a coarse grid costs a little power and no error.
"""


def p_words(evidence: float | None) -> str:
    """`p 0.012`; what rounds to nothing is `p < 0.001`, for no lead is beyond chance."""
    value = 1.0 if evidence is None else evidence
    return f"p {value:.3f}" if value >= 0.001 else "p < 0.001"


@dataclass(frozen=True)
class Sample:
    """One task's valid trials under both skills: values 0..1, at least one each."""

    weight: float
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def decided(self) -> bool:
        """All trials of both arms are alike: it says nothing about which skill is better."""
        return len({round(value * _GRID) for value in (*self.before, *self.after)}) == 1

    @property
    def difference(self) -> float:
        """Mean after minus mean before."""
        return math.fsum(self.after) / len(self.after) - math.fsum(self.before) / len(self.before)


def p_value(samples: Sequence[Sample]) -> float:
    """The mid-p of a lead as large as this one, were both skills alike: 0..1, small speaks for the candidate."""
    strata = [_stratum(sample) for sample in samples if sample.weight > 0 and not sample.decided]
    strata = [(law, variance, seen) for law, variance, seen in strata if variance > 0]
    if not strata:
        return 0.5
    cells = _CELLS if max(len(law) for law, _, _ in strata) <= _ATOMS else _COARSE_CELLS
    unit = math.sqrt(math.fsum(variance for _, variance, _ in strata)) / cells
    sums = [1.0]
    observed = 0
    for law, _, seen in strata:
        atoms: dict[int, float] = {}
        for value, share in law.items():
            atoms[round(value / unit)] = atoms.get(round(value / unit), 0.0) + share
        low = min(atoms)
        sums = _convolve(sums, {atom - low: share for atom, share in atoms.items()})
        observed += round(seen / unit) - low
    return min(1.0, math.fsum(sums[observed + 1 :]) + 0.5 * sums[observed])


def standard_error(samples: Sequence[Sample]) -> float | None:
    """Of the weighted mean difference, were both skills alike; None without samples."""
    total = math.fsum(sample.weight for sample in samples)
    if total <= 0:
        return None
    parts = []
    for sample in samples:
        values = (*sample.before, *sample.after)
        mean = math.fsum(values) / len(values)
        spread = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        parts.append((sample.weight / total) ** 2 * spread * (1 / len(sample.before) + 1 / len(sample.after)))
    return math.sqrt(math.fsum(parts))


def _stratum(sample: Sample) -> tuple[dict[float, float], float, float]:
    """The statistic's law over all deals of one task's values, its variance, and what was seen."""
    values = (*sample.before, *sample.after)
    grid = _COARSE_GRID if len(values) > _MANY and not set(values) <= {0.0, 1.0} else _GRID
    before, after = ([round(value * grid) for value in side] for side in (sample.before, sample.after))
    total, sizes = sum(before) + sum(after), (len(before), len(after))
    law: dict[float, float] = {}
    for part, share in _deals(tuple(sorted((*before, *after))), len(after)).items():
        value = sample.weight * _weigh(total - part, part, *sizes, grid)
        law[value] = law.get(value, 0.0) + share
    mean = math.fsum(value * share for value, share in law.items())
    variance = math.fsum(share * (value - mean) ** 2 for value, share in law.items())
    return law, variance, sample.weight * _weigh(sum(before), sum(after), *sizes, grid)


@lru_cache(maxsize=4096)
def _deals(values: tuple[int, ...], size: int) -> Mapping[int, float]:
    """The sum of `size` of the values, dealt at random: sum -> probability."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(size))]
    for value in values:
        for count in range(size, 0, -1):
            into = ways[count]
            for part, number in ways[count - 1].items():
                into[part + value] = into.get(part + value, 0) + number
    every = math.comb(len(values), size)
    return {part: number / every for part, number in sorted(ways[size].items())}


@lru_cache(maxsize=65536)
def _weigh(before: int, after: int, n_before: int, n_after: int, grid: int) -> float:
    """The signed power of the log likelihood ratio of two pass rates against one; sums count in parts of `grid`."""
    a, b = before / grid, after / grid
    gain = _fit(a, n_before) + _fit(b, n_after) - _fit(a + b, n_before + n_after)
    sign = (after * n_before > before * n_after) - (after * n_before < before * n_after)
    return float(sign * max(0.0, gain) ** _POWER)


def _fit(passed: float, of: int) -> float:
    """Log-likelihood of `passed` of `of` trials at their own rate; parts of passes count as parts."""
    failed = of - passed
    return (passed * math.log(passed / of) if passed > 0 else 0.0) + (
        failed * math.log(failed / of) if failed > 0 else 0.0
    )


def _convolve(sums: Sequence[float], atoms: Mapping[int, float]) -> list[float]:
    made = [0.0] * (len(sums) + max(atoms))
    for shift, share in atoms.items():
        end = shift + len(sums)
        made[shift:end] = [old + share * mass for old, mass in zip(made[shift:end], sums, strict=True)]
    return made
