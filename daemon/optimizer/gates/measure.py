"""What a skill scores on a split, and the selection split under each skill, each trial measured once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing

from pydantic import BaseModel, ConfigDict

from daemon.optimizer.gates.rule import GateRule, mean, valid_pairs
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task
from skills_repo.skill import Skill


class Measured(BaseModel):
    """A skill's score on a split."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: float | None
    """By the gate's metric; None where nothing is valid."""
    hard: float | None
    """Share solved."""
    soft: float | None
    n: int
    """Tasks with a valid result."""
    of: int
    """Tasks."""


def measured(results: Sequence[TaskResult], rule: GateRule) -> Measured:
    """The figures of one pass over a split."""
    return Measured(
        score=mean(results, rule),
        hard=mean(results, GateRule("hard")),
        soft=mean(results, GateRule("soft")),
        n=sum(result.valid for result in results),
        of=len(results),
    )


def measured_in_pairs(
    before: Sequence[TaskResult], after: Sequence[TaskResult], rule: GateRule
) -> tuple[Measured, Measured]:
    """The figures of two passes over the same split, each over the tasks that have a score in both."""
    pairs = valid_pairs(before, after)
    first, second = (measured(side, rule) for side in ([a for a, _ in pairs], [b for _, b in pairs]))
    return first.model_copy(update={"of": len(before)}), second.model_copy(update={"of": len(after)})


class Selection:
    """Results on the selection split by skill and trial. Invalid ones are tried again whenever they are asked again."""

    def __init__(self, rollouts: Rollouts, tasks: Sequence[Task], run_id: str, rule: GateRule) -> None:
        self._rollouts = rollouts
        self._run_id = run_id
        self._known: dict[tuple[str, int], dict[str, TaskResult]] = {}
        self._used: dict[tuple[str, int, str], TaskResult] = {}
        self.tasks = tasks
        self.rule = rule

    def begin(self) -> None:
        """Forget what was used: a judgement begins."""
        self._used.clear()

    def used(self, besides: tuple[str, Collection[int]]) -> tuple[TaskResult, ...]:
        """Valid results given out since `begin`, each once, but for a skill's (its digest) given trials.

        Whether they were paid for now or read back makes no difference.
        """
        digest, trials = besides
        return tuple(
            result for (skill, trial, _), result in sorted(self._used.items()) if skill != digest or trial not in trials
        )

    async def results(
        self, skill: Skill, trial: int = 0, tasks: Sequence[Task] | None = None
    ) -> tuple[TaskResult, ...]:
        """One trial of `tasks` (all of the split), by task id, invalid ones among them."""
        asked = self.tasks if tasks is None else tasks
        known = self._known.setdefault((skill.digest, trial), {})
        missing = [task for task in asked if task.id not in known]
        found = await self._rollouts.score(skill, missing, run_id=self._run_id, trial=trial) if missing else ()
        known.update((result.task_id, result) for result in found if result.valid)
        merged = {result.task_id: result for result in found} | known
        results = tuple(merged[task_id] for task_id in sorted(task.id for task in asked))
        self._use(skill, trial, *results)
        return results

    async def stream(self, skill: Skill, trial: int, tasks: Sequence[Task]) -> AsyncGenerator[TaskResult, None]:
        """One trial of `tasks`, in the order given, each as soon as it is there. Close it when you stop reading."""
        known = self._known.setdefault((skill.digest, trial), {})
        async with aclosing(self._rollouts.stream(skill, tasks, run_id=self._run_id, trial=trial)) as results:
            async for result in results:
                if result.valid:
                    known[result.task_id] = result
                self._use(skill, trial, result)
                yield result

    def _use(self, skill: Skill, trial: int, *results: TaskResult) -> None:
        self._used.update({(skill.digest, trial, one.task_id): one for one in results if one.valid})
