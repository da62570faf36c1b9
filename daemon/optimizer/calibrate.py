"""A/A: the current skill against itself, for `honed calibrate`. What differs is noise; nothing is learned."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.budget.purse import Purse
from daemon.config_train import TrainSection
from daemon.journal.journal import Journal
from daemon.optimizer.gates.arms import Arm
from daemon.optimizer.gates.measure import Measured, Selection
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.power import flip_rate, noise_of_mean, smallest_effect, within_variance
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.simulate import false_accepts
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool
from daemon.optimizer.scoring_run import CALIBRATION, scoring_run
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task
from skills_repo.skill import Skill

TRIALS = 5
SIMULATED_RUNS = 200


@dataclass(frozen=True)
class TaskNoise:
    """One task over its valid trials."""

    id: str
    trials: int
    mean: float | None
    """By the gate's metric; None without a valid trial."""
    flip_rate: float | None
    """How often two trials differ; None with less than two."""


@dataclass(frozen=True)
class CalibrationReport:
    """How much the same skill differs from itself."""

    measured: Measured
    trials: int
    rows: tuple[TaskNoise, ...]
    flip_rate: float | None
    """Mean over the tasks with two valid trials."""
    noise: float | None
    """Standard deviation of the mean of one pass over the split."""
    strict_accepts: float | None
    """How often the strict gate would accept a candidate that changes nothing."""
    paired_accepts: float | None
    smallest_effect: float | None
    """The smallest gain of the mean that the paired gate finds in 4 of 5 cases."""
    attempts: int
    wall_s: float


async def calibrate(
    rollouts: Rollouts,
    journal: Journal,
    skill: Skill,
    tasks: Sequence[Task],
    train: TrainSection,
    *,
    trials: int = TRIALS,
    path: str = "",
    purse: Purse | None = None,
) -> CalibrationReport:
    """Run the selection split `trials` times with one skill, under a run of its own in the journal.

    The gates are then tried on a candidate that changes nothing, with trials drawn from those seen. `path` is the
    skill's key in the journal, `purse` the one that `rollouts` ask. Raises `RunStopped` if a provider or an engine is
    beyond help, and `BudgetReached`; what was scored by then is kept.
    """
    started = time.monotonic()
    rule = GateRule(train.gate_metric, train.mixed_weight, train.min_valid)
    async with scoring_run(journal, CALIBRATION, path or skill.name, purse=purse) as run_id:
        arm = Arm(skill, Selection(rollouts, tuple(tasks), run_id, rule))
        attempts = await arm.ask(range(trials), tasks)
    seen = {task.id: arm.valid(task.id) for task in tasks if arm.valid(task.id)}
    strict, paired = await _accepts(seen, rule, train)
    values = {task.id: arm.values(task.id) for task in tasks}
    variance = within_variance(list(values.values()))
    rates = [rate for rate in map(flip_rate, values.values()) if rate is not None]
    return CalibrationReport(
        measured=arm.measured(tasks),
        trials=trials,
        rows=tuple(_row(task, values[task.id]) for task in sorted(tasks, key=lambda task: task.id)),
        flip_rate=sum(rates) / len(rates) if rates else None,
        noise=noise_of_mean([values[task.id] for task in tasks], [task.weight for task in tasks]),
        strict_accepts=strict,
        paired_accepts=paired,
        smallest_effect=None if variance is None else smallest_effect(len(seen), train, variance),
        attempts=attempts,
        wall_s=time.monotonic() - started,
    )


def _row(task: Task, values: Sequence[float]) -> TaskNoise:
    mean = sum(values) / len(values) if values else None
    return TaskNoise(task.id, len(values), mean, flip_rate(values))


async def _accepts(
    seen: Mapping[str, Sequence[TaskResult]], rule: GateRule, train: TrainSection
) -> tuple[float | None, float | None]:
    """Of strict and of paired, for a candidate that changes nothing; None where there is nothing to draw from."""
    if not seen:
        return None, None
    gate = PairedGate(train.gate_trials, train.gate_pool, train.gate_error)
    strict = await false_accepts(StrictGate(), seen, rule, pool=Pool(0, 1), runs=SIMULATED_RUNS)
    return strict, await false_accepts(gate, seen, rule, pool=Pool(0, train.gate_pool), runs=SIMULATED_RUNS)
