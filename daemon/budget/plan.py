"""How many attempts and optimizer requests a run takes: a pure function of honed.toml and the sizes of the splits.

The least: no edit is ever made, so every epoch after the first is read back. The most: every step goes the whole way
and nothing can be read back. Retries of failed attempts are in neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daemon.config_train import TrainSection
from daemon.optimizer.batches import plan_steps
from daemon.optimizer.gates.paired import AGAIN, START
from daemon.tasks.task import Split

ROLE_CALLS = 2
"""At most one more request of a step for what misses its anchor, and one for a rewrite or a learning rate."""


@dataclass(frozen=True)
class Range:
    """Whole numbers from the least to the most."""

    least: int
    most: int

    def __add__(self, other: Range) -> Range:
        """Both."""
        return Range(self.least + other.least, self.most + other.most)


@dataclass(frozen=True)
class RunPlan:
    """What a run will ask for."""

    steps: int
    attempts: Mapping[str, Range]
    """By phase, in order: `baseline`, `rollouts`, `gate`, `slow update`, `sealed test`."""
    requests: Mapping[str, Range]
    """Of the optimizer, by phase."""
    first: int
    """Attempts before the first step."""
    step_attempts: int
    """Attempts of one step, at most."""
    step_requests: int

    @property
    def all_attempts(self) -> Range:
        """Of the whole run."""
        return _sum(self.attempts.values())

    @property
    def all_requests(self) -> Range:
        """Of the whole run."""
        return _sum(self.requests.values())


def plan_run(train: TrainSection, sizes: Mapping[Split, int]) -> RunPlan:
    """The plan for splits of these sizes (`train`, `selection`, `test`)."""
    ids = [f"{number:09d}" for number in range(sizes["train"])]
    steps = plan_steps(ids, epochs=train.epochs, batch=train.batch, accumulation=train.accumulation, seed=train.seed)
    batches = [[len(batch) for batch in step.batches] for step in steps]
    baseline, gate = _baseline(train, sizes["selection"]), _gate(train, sizes["selection"])
    later_epochs = train.epochs - 1
    slow = train.slow_update != "off" and later_epochs > 0
    samples = 2 * min(train.slow_update_samples, sizes["train"]) + (gate if train.slow_update == "gated" else 0)
    reflections = [sum(_minibatches(size, train.minibatch) for size in step) for step in batches]
    merges = [_merges(count, train.merge_batch) for count in reflections]
    attempts = {
        "baseline": Range(baseline, baseline),
        "rollouts": Range(sizes["train"], sum(map(sum, batches))),
        "gate": Range(0, gate * len(steps)),
        "slow update": Range(0, samples * later_epochs if slow else 0),
        "sealed test": Range(sizes["test"], 2 * sizes["test"]),
    }
    notes = (1 if slow else 0) + (1 if train.meta_skill and later_epochs else 0)
    requests = {
        "reflections": Range(0, sum(reflections)),
        "merges": Range(0, sum(merges)),
        "ranking and updates": Range(0, (1 + ROLE_CALLS) * len(steps)),
        "slow update and meta skill": Range(0, notes * later_epochs),
    }
    return RunPlan(
        steps=len(steps),
        attempts=attempts,
        requests=requests,
        first=baseline,
        step_attempts=max((sum(step) for step in batches), default=0) + gate,
        step_requests=max((a + b for a, b in zip(reflections, merges, strict=True)), default=0) + 1 + ROLE_CALLS,
    )


def _baseline(train: TrainSection, selection: int) -> int:
    """Attempts that measure the initial skill."""
    return selection * {"off": 0, "strict": 1, "paired": min(START, train.gate_pool)}[train.gate]


def _gate(train: TrainSection, selection: int) -> int:
    """Attempts of one judgement, at most.

    Paired: a trial a round of the candidate and the trials that confirm it; one more of the current skill's pool, and a
    fresh one of it in each round but the first. Attribution: each edit is left out once, and what is left is judged.
    """
    judgement = selection * {"off": 0, "strict": 1, "paired": 2 * train.gate_trials + AGAIN}[train.gate]
    if not train.attribution:
        return judgement
    one_left_out = selection * {"off": 0, "strict": 1, "paired": AGAIN}[train.gate]
    return 2 * judgement + train.edit_budget * one_left_out


def _minibatches(attempts: int, size: int) -> int:
    """The most that failures and successes of one batch are cut into."""
    return min(attempts, -(-attempts // size) + 1)


def _merges(patches: int, batch: int) -> int:
    """The most calls that merge so many patches: a tree, and both groups at last."""
    calls, level = 0, patches
    while level > 1:
        level = -(-level // batch)
        calls += level
    return calls + 1 if patches > 1 else 0


def _sum(ranges: Iterable[Range]) -> Range:
    return sum(ranges, Range(0, 0))
