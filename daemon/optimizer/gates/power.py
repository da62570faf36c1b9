"""What a split can see: the smallest gain that the paired gate finds, and how much a mean trembles.

From the noise within tasks alone. Unless it was measured (`honed calibrate`), three tasks of ten are taken to pass half
of the time and the rest always or never.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from daemon.config_train import TrainSection

POWER = 0.8
ASSUMED_VARIANCE = 0.3 * 0.25
"""Variance of one trial's value within a task, averaged over the tasks."""


def smallest_effect(n: int, train: TrainSection, variance: float = ASSUMED_VARIANCE) -> float:
    """The smallest gain of the mean (0..1) that the paired gate accepts in 4 of 5 cases on `n` tasks; at most 1.

    With the configured trials and error. One task's worth at least: less cannot be seen whatever the noise.
    """
    if n < 1:
        return 1.0
    normal = NormalDist()
    reach = normal.inv_cdf(1 - train.gate_error) + normal.inv_cdf(POWER)
    noise = math.sqrt(variance / n * (1 / train.gate_trials + 1 / train.gate_pool))
    return min(1.0, max(1 / n, reach * noise))


def tasks_for(effect: float, train: TrainSection, variance: float = ASSUMED_VARIANCE) -> int:
    """How many tasks it takes to see a gain of `effect` in 4 of 5 cases."""
    normal = NormalDist()
    reach = normal.inv_cdf(1 - train.gate_error) + normal.inv_cdf(POWER)
    noisy = variance * (1 / train.gate_trials + 1 / train.gate_pool) * (reach / effect) ** 2
    return max(1, math.ceil(max(noisy, 1 / effect) - 1e-9))


def within_variance(values: Sequence[Sequence[float]]) -> float | None:
    """The mean over the tasks of the variance of their trials' values; None where no task has two."""
    several = [task for task in values if len(task) > 1]
    return math.fsum(map(_variance, several)) / len(several) if several else None


def noise_of_mean(values: Sequence[Sequence[float]], weights: Sequence[float]) -> float | None:
    """Standard deviation of the weighted mean of one pass; None where no task has two trials."""
    several = [(weight, _variance(task)) for weight, task in zip(weights, values, strict=True) if len(task) > 1]
    total = math.fsum(weight for weight, _ in several)
    if total <= 0:
        return None
    return math.sqrt(math.fsum(weight**2 * variance for weight, variance in several)) / total


def flip_rate(values: Sequence[float]) -> float | None:
    """How often two trials of a task differ: the share of pairs with unlike values; None with less than two."""
    n = len(values)
    if n < 2:
        return None
    alike = sum(values.count(value) * (values.count(value) - 1) for value in set(values))
    return 1 - alike / (n * (n - 1))


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
