"""Which tasks each step sees, and how attempts are cut into reflection minibatches. Seeded, by id, nothing else.

Every shuffle has a generator of its own, seeded by its place, so no phase can disturb another.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
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
    last_of_epoch: bool = False


def plan_steps(ids: Collection[str], *, epochs: int, batch: int, accumulation: int, seed: int) -> tuple[StepPlan, ...]:
    """Every step of a run: each epoch is one pass over all ids in its own order, ceil(ids / (batch x accumulation))."""
    steps: list[StepPlan] = []
    for epoch in range(1, epochs + 1):
        batches = _chunks(_shuffled(ids, f"{seed}/epoch/{epoch}"), batch)
        for start in range(0, len(batches), accumulation):
            mine, last = batches[start : start + accumulation], start + accumulation >= len(batches)
            steps.append(StepPlan(len(steps) + 1, epoch, mine, last))
    return tuple(steps)


@dataclass(frozen=True)
class Minibatch:
    """Attempts reflected on together."""

    solved: bool
    results: tuple[TaskResult, ...]
    place: str = "0"
    """Its name within the step: `failures.0.1` is the second one of failures of the first batch."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Task ids in the order shown."""
        return tuple(result.task_id for result in self.results)


def batch_order(batch: Iterable[str], *, seed: int, step: int, ordinal: int) -> tuple[str, ...]:
    """The order in which a batch's results are cut into minibatches: shuffled, whatever the order of completion."""
    return tuple(_shuffled(batch, f"{seed}/minibatch/{step}/{ordinal}"))


class Cutter:
    """Cuts one batch's results, given in `batch_order`, into minibatches of failures and of successes.

    A minibatch is complete as soon as its last result is there, so reflection on it need not wait for the others.
    Invalid results say nothing and are left out.
    """

    def __init__(self, size: int, ordinal: int) -> None:
        self._size = size
        self._ordinal = ordinal
        self._waiting: dict[bool, list[TaskResult]] = {False: [], True: []}
        self._made = {False: 0, True: 0}

    def add(self, result: TaskResult) -> Minibatch | None:
        """Take the next result; the minibatch that it completes, if it does."""
        if not result.valid:
            return None
        group = self._waiting[result.solved]
        group.append(result)
        return self._cut(result.solved) if len(group) == self._size else None

    def rest(self) -> tuple[Minibatch, ...]:
        """What is left when the batch is at its end: at most one minibatch of failures and one of successes."""
        return tuple(self._cut(solved) for solved in (False, True) if self._waiting[solved])

    def _cut(self, solved: bool) -> Minibatch:
        place = f"{'successes' if solved else 'failures'}.{self._ordinal}.{self._made[solved]}"
        made = Minibatch(solved, tuple(self._waiting[solved]), place)
        self._waiting[solved] = []
        self._made[solved] += 1
        return made


def in_order(cut: Iterable[Minibatch]) -> tuple[Minibatch, ...]:
    """Failures first, then successes, each by batch and number."""
    return tuple(sorted(cut, key=lambda one: (one.solved, *(int(part) for part in one.place.split(".")[1:]))))


def minibatches(
    results: Sequence[TaskResult], *, size: int, seed: int, step: int, ordinal: int
) -> tuple[Minibatch, ...]:
    """A whole batch cut at once: failures first, then successes."""
    known = {result.task_id: result for result in results}
    cutter = Cutter(size, ordinal)
    full = [cutter.add(known[i]) for i in batch_order(known, seed=seed, step=step, ordinal=ordinal)]
    return in_order([one for one in full if one] + list(cutter.rest()))


def _shuffled(ids: Iterable[str], seed: str) -> list[str]:
    order = sorted(ids)
    random.Random(seed).shuffle(order)  # noqa: S311 - reproducible on purpose
    return order


def _chunks(items: Sequence[T], size: int) -> tuple[tuple[T, ...], ...]:
    return tuple(tuple(items[i : i + size]) for i in range(0, len(items), size))
