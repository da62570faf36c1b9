"""The gates against known truth, small: `make bench` measures the same over many more runs through the whole stack.

All is seeded, so a figure changes only if a gate does.
"""

from __future__ import annotations

from statistics import fmean

from daemon.optimizer.gates.gate import Gate
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool, Verdict
from tests.benchmarks.gate import FIXED, lifted, rates
from tests.support.gates import RateSelection, selection_tasks

RUNS = 120


async def judged(gate: Gate, kind: str, n: int, pool: Pool, runs: int = RUNS) -> list[Verdict]:
    """Verdicts on candidates of one kind, one a seed."""
    verdicts = []
    for seed in range(runs):
        selection = RateSelection(selection_tasks(n), seed)
        ids = [task.id for task in selection.tasks]
        plain = rates(seed, n)
        old, new = (plain, plain) if kind == "no_op" else (plain, lifted(seed, plain))
        if kind == "harmful":
            old, new = new, old
        base = selection.version("a", dict(zip(ids, old, strict=True)))
        candidate = selection.version("b", dict(zip(ids, new, strict=True)))
        verdicts.append(await gate.judge(base, candidate, selection, pool))
    return verdicts


def share(verdicts: list[Verdict]) -> float:
    return fmean(verdict.ruling == "accepted" for verdict in verdicts)


def attempts(verdicts: list[Verdict]) -> float:
    return fmean(verdict.before_attempts + verdict.after_attempts for verdict in verdicts)


async def test_paired_lets_few_no_ops_through_and_strict_many() -> None:
    paired = await judged(PairedGate(), "no_op", 24, Pool(0, 6))
    assert share(paired) <= 0.05
    assert attempts(paired) <= 0.6 * FIXED
    assert share(await judged(StrictGate(), "no_op", 24, Pool(0, 1))) >= 0.25


async def test_paired_finds_ten_points_on_24_tasks() -> None:
    assert share(await judged(PairedGate(), "good", 24, Pool(0, 6))) >= 0.75


async def test_paired_finds_ten_points_on_50_tasks() -> None:
    assert share(await judged(PairedGate(), "good", 50, Pool(0, 6), runs=40)) >= 0.9


async def test_harm_is_seen_at_once() -> None:
    verdicts = await judged(PairedGate(), "harmful", 24, Pool(0, 6))
    assert share(verdicts) == 0
    assert attempts(verdicts) <= 24


async def test_what_is_reported_after_many_no_ops_is_what_is_true() -> None:
    """The winner's curse: the luck that got a candidate accepted must not stay in its score."""
    gaps = []
    for seed in range(30):
        selection = RateSelection(selection_tasks(24), seed)
        plain = rates(seed, 24)
        scores = {task.id: rate for task, rate in zip(selection.tasks, plain, strict=True)}
        skill = selection.version("first", scores)
        measured, pool = await PairedGate().measure(skill, selection)
        score = measured.score
        for step in range(16):
            candidate = selection.version(f"step {step}", scores)
            verdict = await PairedGate().judge(skill, candidate, selection, pool)
            accepted = verdict.ruling == "accepted"
            skill, pool = (candidate, verdict.candidate_pool) if accepted else (skill, verdict.base_pool)
            score = verdict.current
        assert score is not None
        gaps.append(100 * (score - fmean(plain)))
    assert abs(fmean(gaps)) <= 2
