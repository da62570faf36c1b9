"""Rollouts of a step's batches, and reflection on each minibatch as soon as it is complete, at the same time.

What is asked is decided by the results in a shuffled order alone, never by who finished first: the same results give
the same minibatches at the same places. Successes wait until there is a failure to learn from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from daemon.budget.reached import BudgetReached
from daemon.optimizer.batches import Cutter, Minibatch, StepPlan, batch_order, in_order
from daemon.optimizer.settings import Knobs
from daemon.rollouts.parallel import ordered
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task
from skills_repo.skill import Skill

A_co = TypeVar("A_co", covariant=True)
B = TypeVar("B")


class Reflects(Protocol[A_co]):
    """Whoever reflects on a minibatch."""

    async def reflect_one(self, minibatch: Minibatch) -> A_co:
        """Ask the optimizer about one minibatch."""


@dataclass(frozen=True)
class Learned(Generic[B]):
    """What the batches came to."""

    results: tuple[TaskResult, ...]
    """By batch, then by task id."""
    cut: tuple[Minibatch, ...]
    """Failures first, then successes."""
    answers: tuple[B, ...]
    """One a minibatch; none if there was nothing to learn."""


@dataclass
class Learning(Generic[B]):
    """One step's rollouts and reflections."""

    rollouts: Rollouts
    reflector: Reflects[B]
    skill: Skill
    plan: StepPlan
    train: Mapping[str, Task]
    knobs: Knobs
    run_id: str
    _asked: dict[str, asyncio.Task[B]] = field(default_factory=dict)
    _held: list[Minibatch] = field(default_factory=list)
    """Minibatches of successes, until a failure is seen."""
    _failed: bool = False

    async def run(self) -> Learned[B]:
        """All of it; raises `RunStopped` when every job still running has been ended.

        `BudgetReached` is raised when every job that was begun has come to its end.
        """
        try:
            batches = await ordered(self._batch(ordinal, batch) for ordinal, batch in enumerate(self.plan.batches))
            cut = in_order(one for _, minibatches in batches for one in minibatches)
            results = tuple(result for found, _ in batches for result in found)
            if not self._failed:
                return Learned(results, cut, ())
            answers = await ordered(self._answer(one) for one in cut)
            return Learned(results, cut, tuple(answers))
        except BudgetReached:
            # What is being asked is paid for: it is to be read back later. A failure tells more than a refusal.
            asked = [job for _, job in sorted(self._asked.items())]
            ended = await asyncio.gather(*asked, return_exceptions=True)
            for failure in (end for end in ended if isinstance(end, BaseException)):
                if not isinstance(failure, BudgetReached):
                    raise failure from None
            raise
        finally:
            await _end(list(self._asked.values()))

    async def _batch(self, ordinal: int, batch: Sequence[str]) -> tuple[tuple[TaskResult, ...], list[Minibatch]]:
        train = self.knobs.train
        order = batch_order(batch, seed=train.seed, step=self.plan.step, ordinal=ordinal)
        cutter, cut = Cutter(train.minibatch, ordinal), []
        results: list[TaskResult] = []
        tasks = [self.train[i] for i in order]
        async with aclosing(self.rollouts.stream(self.skill, tasks, run_id=self.run_id)) as stream:
            async for result in stream:
                results.append(result)
                self._see(result)
                if full := cutter.add(result):
                    cut.append(full)
                    self._start(full)
        for rest in cutter.rest():
            cut.append(rest)
            self._start(rest)
        return tuple(sorted(results, key=lambda result: result.task_id)), cut

    def _see(self, result: TaskResult) -> None:
        if result.valid and not result.solved and not self._failed:
            self._failed = True
            for held in self._held:
                self._ask(held)

    def _start(self, minibatch: Minibatch) -> None:
        if minibatch.solved and not self._failed:
            self._held.append(minibatch)
        else:
            self._ask(minibatch)

    def _ask(self, minibatch: Minibatch) -> None:
        self._asked[minibatch.place] = asyncio.ensure_future(self.reflector.reflect_one(minibatch))

    async def _answer(self, minibatch: Minibatch) -> B:
        return await self._asked[minibatch.place]


async def _end(jobs: Sequence[asyncio.Task[B]]) -> None:
    """Cancel what still runs and take what failed, so that nothing is left behind or reported as forgotten."""
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
