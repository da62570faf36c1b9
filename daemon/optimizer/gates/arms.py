"""The two arms of a judgement: what each skill's trials came to, task by task.

Within one judgement a trial of a task is asked once: an invalid one stays invalid and is left out, task by task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from daemon.optimizer.gates.evidence import Sample
from daemon.optimizer.gates.measure import Measured, Selection
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.verdict import Pool, TaskRow
from daemon.rollouts.parallel import ordered
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import Task
from skills_repo.skill import Skill

Standing = tuple[Skill, Pool]
"""A skill and the trials that count for its estimate."""


@dataclass
class Arm:
    """One skill's results so far."""

    skill: Skill
    selection: Selection
    _results: dict[str, dict[int, TaskResult]] = field(default_factory=dict)
    """Task id to trial number to result."""

    async def ask(self, trials: Iterable[int], tasks: Sequence[Task]) -> int:
        """Measure; returns how many attempts that asked for."""
        wanted = [(trial, [task for task in tasks if trial not in self._of(task.id)]) for trial in trials]
        passes = await ordered(self.selection.results(self.skill, trial, some) for trial, some in wanted if some)
        for (trial, _), results in zip([(trial, some) for trial, some in wanted if some], passes, strict=True):
            for result in results:
                self._of(result.task_id)[trial] = result
        return sum(len(some) for _, some in wanted)

    def valid(self, task_id: str, trials: range | None = None) -> list[TaskResult]:
        """The task's valid results by trial, of all trials or of some."""
        rows = sorted(self._of(task_id).items())
        return [result for trial, result in rows if result.valid and (trials is None or trial in trials)]

    def values(self, task_id: str, trials: range | None = None, rule: GateRule | None = None) -> tuple[float, ...]:
        """What they count, 0..1, by the gate's metric or by `rule`."""
        return tuple((rule or self.selection.rule).value(result) for result in self.valid(task_id, trials))

    def rate(self, task_id: str) -> float | None:
        """Share of the valid trials that solved the task; None without any."""
        valid = self.valid(task_id)
        return sum(result.solved for result in valid) / len(valid) if valid else None

    def always(self, task_id: str) -> bool:
        """The task cannot go better: full value in every valid trial, and there is one."""
        values = self.values(task_id)
        return bool(values) and min(values) >= 1

    def mean(self, tasks: Sequence[Task], trials: range | None = None, rule: GateRule | None = None) -> float | None:
        """The weighted mean over the tasks with a valid trial, each by the mean of its own."""
        found = [(task.weight, self.values(task.id, trials, rule)) for task in tasks]
        rated = [(weight, math.fsum(values) / len(values)) for weight, values in found if values]
        total = math.fsum(weight for weight, _ in rated)
        return math.fsum(weight * value for weight, value in rated) / total if total > 0 else None

    def most(self, tasks: Sequence[Task], trials: range | None = None) -> int:
        """Most valid trials of one task."""
        return max((len(self.valid(task.id, trials)) for task in tasks), default=0)

    def measured(self, tasks: Sequence[Task], trials: range | None = None) -> Measured:
        """The figures over these trials."""
        rule = self.selection.rule
        score, hard, soft = (self.mean(tasks, trials, by) for by in (rule, GateRule("hard"), GateRule("soft")))
        n = sum(bool(self.valid(task.id, trials)) for task in tasks)
        return Measured(score=score, hard=hard, soft=soft, n=n, of=len(tasks))

    def _of(self, task_id: str) -> dict[int, TaskResult]:
        return self._results.setdefault(task_id, {})


async def measured_by_pools(before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
    """Two skills by the trials of their pools, each over the tasks with a score under both."""
    arms = [Arm(skill, selection) for skill, _ in (before, after)]
    for arm, (_, pool) in zip(arms, (before, after), strict=True):
        await arm.ask(pool.trials, selection.tasks)
    pairs = paired(arms[0], arms[1], selection.tasks)
    first, second = (arm.measured(pairs).model_copy(update={"of": len(selection.tasks)}) for arm in arms)
    return first, second


def samples(before: Arm, after: Arm, tasks: Sequence[Task]) -> list[Sample]:
    """The tasks with a valid trial in both arms, as the evidence wants them."""
    found = [(task.weight, before.values(task.id), after.values(task.id)) for task in tasks]
    return [Sample(weight, old, new) for weight, old, new in found if old and new]


def paired(before: Arm, after: Arm, tasks: Sequence[Task]) -> list[Task]:
    """The tasks with a valid trial in both arms."""
    return [task for task in tasks if before.valid(task.id) and after.valid(task.id)]


def mixed(before: Arm, after: Arm, tasks: Sequence[Task]) -> list[Task]:
    """The tasks whose trials are not all alike: those that may yet speak for either skill."""
    return [task for task in tasks if len({*before.values(task.id), *after.values(task.id)}) > 1]


def table(before: Arm, after: Arm, tasks: Sequence[Task]) -> tuple[TaskRow, ...]:
    """The gate table over all trials, by task id."""
    rows = []
    for task in sorted(tasks, key=lambda task: task.id):
        old, new = before.values(task.id), after.values(task.id)
        rows.append(TaskRow(task.id, _mean(old), len(old), _mean(new), len(new), task.weight, task.protect, task.group))
    return tuple(rows)


def changed(before: Arm, after: Arm, tasks: Sequence[Task]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of the tasks fixed (solved in less than half of the trials before, in more now) and broken."""
    rates = [(task.id, before.rate(task.id), after.rate(task.id)) for task in sorted(tasks, key=lambda task: task.id)]
    known = [(task_id, old, new) for task_id, old, new in rates if old is not None and new is not None]
    fixed = tuple(task_id for task_id, old, new in known if old < 0.5 < new)
    return fixed, tuple(task_id for task_id, old, new in known if new < 0.5 < old)


def broken_protected(before: Arm, after: Arm, tasks: Sequence[Task]) -> Task | None:
    """The first protected task that the candidate breaks.

    Broken is: solved in every valid trial before and failed in any now; or solved in at least half of them before and
    in none of at least two now.
    """
    for task in sorted(tasks, key=lambda task: task.id):
        old, new = before.rate(task.id), after.rate(task.id)
        if not task.protect or old is None or new is None:
            continue
        if (old == 1 and new < 1) or (old >= 0.5 and new == 0 and len(after.valid(task.id)) > 1):
            return task
    return None


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
