"""What the gates decide, beside what is true: the real gates, rollouts and journal over tasks of known pass rates.

The split: 40 % of the tasks always pass, 30 % never, 30 % at 20 to 80 %. A good candidate lifts a fifth of the tasks so
that the mean gains 10 points; a harmful one is the same change undone; a no-op changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal

import structlog

from daemon.optimizer.gates.gate import Gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool
from tests.benchmarks.results import Result
from tests.support.gates import GateWorld, Inline

Say = Callable[[str], None]
Rule = Literal["strict", "paired"]
RUNS = 200
"""Seeded runs of each kind, at least."""
STEPS = 16
LIFT = 0.1
FIXED = 24 * 3
"""Attempts of the design that the gates are compared with."""
MIX = {"no_op": 0.7, "harmful": 0.2, "good": 0.1}
"""Shares of the candidates that a run meets."""
_POOLED = {"strict": Pool(0, 1), "paired": Pool(0, 6)}


@dataclass(frozen=True)
class Case:
    """One candidate judged by one gate."""

    rule: Rule
    kind: str
    """`no_op`, `good` or `harmful`."""
    accepted: bool
    attempts: int
    """Asked for by this judgement, both arms."""
    changed: bool = False
    """Strict alone: stopping early came to another ruling than the full pass."""


def rates(seed: int, n: int) -> list[float]:
    """The pass rates of the current skill."""
    chance = random.Random(seed)
    always, never = round(0.4 * n), round(0.3 * n)
    return [1.0] * always + [0.0] * never + [chance.uniform(0.2, 0.8) for _ in range(n - always - never)]


def lifted(seed: int, base: Sequence[float], by: float = LIFT) -> list[float]:
    """The same with a gain of `by` in the mean, on a fifth of the tasks."""
    some = round(0.2 * len(base))
    gain = by * len(base) / some
    room = [i for i, rate in enumerate(base) if rate + gain <= 1]
    better = list(base)
    for i in random.Random(seed).sample(room, some):
        better[i] += gain
    return better


async def judge_cases(seed: int, n: int, kinds: Sequence[str], folder: Path) -> list[Case]:
    """Both gates on the candidates of these kinds."""
    plain = rates(seed, n)
    cases = []
    for kind in kinds:
        old, new = plain, lifted(seed, plain) if kind != "no_op" else plain
        if kind == "harmful":
            old, new = new, old
        world = GateWorld(folder, old, seed=seed)
        selection, candidate = await world.selection(), world.version(new, kind)
        paired = await PairedGate().judge(world.skill, candidate, selection, _POOLED["paired"])
        cases.append(Case("paired", kind, paired.ruling == "accepted", paired.before_attempts + paired.after_attempts))
        short = await StrictGate().judge(world.skill, candidate, selection, _POOLED["strict"])
        full = await StrictGate(lossless_stop=False).judge(world.skill, candidate, selection, _POOLED["strict"])
        changed = short.ruling != full.ruling
        cases.append(Case("strict", kind, full.ruling == "accepted", short.after_attempts, changed))
    return cases


async def bias(seed: int, rule: Rule, folder: Path) -> float:
    """Reported minus true score after steps of candidates that change nothing, in points."""
    world = GateWorld(folder, rates(seed, 24), seed=seed)
    gate: Gate = PairedGate() if rule == "paired" else StrictGate()
    selection: Selection = await world.selection()
    skill = world.skill
    measured, pool = await gate.measure(skill, selection)
    score = measured.score
    for step in range(STEPS):
        candidate = world.version(world.base, f"{step}")
        verdict = await gate.judge(skill, candidate, selection, pool)
        accepted = verdict.ruling == "accepted"
        skill, pool = (candidate, verdict.candidate_pool) if accepted else (skill, verdict.base_pool)
        score = verdict.current
    assert score is not None
    return 100 * (score - fmean(world.base))


async def gate(n: int, say: Say) -> dict[str, Result]:
    """`gate.RULE.*` for strict and paired, over at least 200 seeded runs each."""
    runs = max(RUNS, n)
    say(f"gate: {runs} runs of each kind, on 2 processes")
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(2) as pool:
        jobs = [loop.run_in_executor(pool, measure, seed, min(runs, seed + 10)) for seed in range(0, runs, 10)]
        parts = []
        for done, job in enumerate(asyncio.as_completed(jobs), start=1):
            parts.append(await job)
            say(f"gate: {done * 10} of {runs} runs")
    return figures(parts)


@dataclass(frozen=True)
class Part:
    """What some of the runs came to."""

    small: list[Case]
    """On 24 tasks."""
    large: list[Case]
    """On 50 tasks."""
    biases: dict[Rule, list[float]]


def measure(first: int, end: int) -> Part:
    """The runs with seeds `first` to `end - 1`, in a process of their own."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))

    async def all_of(folder: Path) -> Part:
        asyncio.get_running_loop().set_default_executor(Inline(1))
        small, large = [], []
        biases: dict[Rule, list[float]] = {"strict": [], "paired": []}
        for seed in range(first, end):
            small += await judge_cases(seed, 24, list(MIX), folder)
            large += await judge_cases(seed, 50, ["good"], folder)
            for rule, found in biases.items():
                found.append(await bias(seed, rule, folder))
        return Part(small, large, biases)

    with tempfile.TemporaryDirectory(prefix="honed-gate-") as folder:
        return asyncio.run(all_of(Path(folder)))


def figures(parts: Sequence[Part]) -> dict[str, Result]:
    """The named results; sums do not depend on which part was ready first."""
    results: dict[str, Result] = {}
    small = [case for part in parts for case in part.small]
    large = [case for part in parts for case in part.large]
    for rule in ("strict", "paired"):
        accepts = {kind: _share([c for c in small if (c.rule, c.kind) == (rule, kind)]) for kind in MIX}
        asked = {kind: _asked([c for c in small if (c.rule, c.kind) == (rule, kind)]) for kind in MIX}
        biases = sorted(value for part in parts for value in part.biases[rule])
        runs = len(biases)
        mixed = sum(share * asked[kind] for kind, share in MIX.items())
        head = f"gate.{rule}"
        results |= {
            f"{head}.no_op": Result(accepts["no_op"], "share", runs, "accepted, of candidates that change nothing"),
            f"{head}.harmful": Result(accepts["harmful"], "share", runs, "accepted, of those 10 points worse"),
            f"{head}.power_24": Result(accepts["good"], "share", runs, "accepted, of those 10 points better"),
            f"{head}.power_50": Result(_share([c for c in large if c.rule == rule]), "share", runs, "on 50 tasks"),
            f"{head}.bias_points": Result(fmean(biases), "points", runs, f"too high after {STEPS} no-op steps"),
            f"{head}.attempts_share": Result(mixed / FIXED, "ratio", runs, f"of {FIXED}, both arms, {_mix()}"),
            f"{head}.attempts_share_no_op": Result(asked["no_op"] / FIXED, "ratio", runs, "the same, no-ops alone"),
        }
    strict = [case for case in (*small, *large) if case.rule == "strict"]
    changed = sum(case.changed for case in strict)
    results["gate.strict.lossless_changed"] = Result(changed, "runs", len(strict), "rulings that a full pass changes")
    return results


def _share(cases: Sequence[Case]) -> float:
    return fmean(case.accepted for case in cases)


def _asked(cases: Sequence[Case]) -> float:
    return fmean(case.attempts for case in cases)


def _mix() -> str:
    return ", ".join(f"{share:.0%} {kind}" for kind, share in MIX.items())
