"""Which tasks each step sees, and how attempts are cut into reflection minibatches. Seeded, by id, nothing else.

Every shuffle has a generator of its own, seeded by its place, so no phase can disturb another.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from daemon.rollouts.result import TaskResult

T = TypeVar("T")


@dataclass(frozen=True)
class StepPlan:
    """The batches of one step."""

    step: int
    """From 1 over the whole run."""
    epoch: int
    """From 1."""
    batches: tuple[tuple[str, ...], ...]
    """Task ids; more than one batch with accumulation. The last one of an epoch may be smaller."""


def plan_steps(ids: Iterable[str], *, epochs: int, batch: int, accumulation: int, seed: int) -> tuple[StepPlan, ...]:
    """Every step of a run: each epoch is one pass over all ids in its own order, ceil(ids / (batch x accumulation))."""
    steps: list[StepPlan] = []
    for epoch in range(1, epochs + 1):
        batches = _chunks(_shuffled(ids, f"{seed}/epoch/{epoch}"), batch)
        for start in range(0, len(batches), accumulation):
            steps.append(StepPlan(len(steps) + 1, epoch, batches[start : start + accumulation]))
    return tuple(steps)


@dataclass(frozen=True)
class Minibatch:
    """Attempts reflected on together."""

    solved: bool
    results: tuple[TaskResult, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Task ids in the order shown."""
        return tuple(result.task_id for result in self.results)


def minibatches(
    results: Sequence[TaskResult], *, size: int, seed: int, step: int, ordinal: int
) -> tuple[Minibatch, ...]:
    """Failures first, then successes, each shuffled and cut. Invalid results say nothing and are left out."""
    cut: list[Minibatch] = []
    for solved in (False, True):
        group = {r.task_id: r for r in results if r.valid and r.solved is solved}
        order = _shuffled(group, f"{seed}/minibatch/{step}/{ordinal}/{'solved' if solved else 'failed'}")
        cut += [Minibatch(solved, tuple(group[i] for i in chunk)) for chunk in _chunks(order, size)]
    return tuple(cut)


def _shuffled(ids: Iterable[str], seed: str) -> list[str]:
    order = sorted(ids)
    random.Random(seed).shuffle(order)  # noqa: S311 - reproducible on purpose
    return order


def _chunks(items: Sequence[T], size: int) -> tuple[tuple[T, ...], ...]:
    return tuple(tuple(items[i : i + size]) for i in range(0, len(items), size))
