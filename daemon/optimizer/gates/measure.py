"""What a skill scores on a split, and the selection split under each skill, measured once."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Valid results."""
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
    """Results on the selection split by skill digest."""

    def __init__(self, rollouts: Rollouts, tasks: tuple[Task, ...], run_id: str, rule: GateRule) -> None:
        self._rollouts = rollouts
        self._run_id = run_id
        self._known: dict[str, tuple[TaskResult, ...]] = {}
        self.tasks = tasks
        self.rule = rule

    async def results(self, skill: Skill) -> tuple[TaskResult, ...]:
        """By task id, invalid ones among them; those are tried again whenever they are asked for again."""
        known = self._known.get(skill.digest)
        if known is None or not all(result.valid for result in known):
            known = await self._rollouts.score(skill, self.tasks, run_id=self._run_id)
            self._known[skill.digest] = known
        return known
