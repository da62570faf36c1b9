"""A gate tried on what is known: trials drawn from those that were measured, so that nothing is paid for.

The gate is the real one; only its selection split is made up, from a seed alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence

from daemon.optimizer.gates.gate import Gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.verdict import Pool
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import Task
from skills_repo.skill import Skill


class Resampled(Selection):
    """A selection split whose every trial is one of those given for its task, the same under every skill."""

    def __init__(self, seen: Mapping[str, Sequence[TaskResult]], rule: GateRule, seed: int) -> None:
        self._seen = {task_id: tuple(results) for task_id, results in sorted(seen.items()) if results}
        self._seed = seed
        self.tasks = tuple(results[0].task for results in self._seen.values())
        self.rule = rule

    async def results(
        self, skill: Skill, trial: int = 0, tasks: Sequence[Task] | None = None
    ) -> tuple[TaskResult, ...]:
        """One trial, by task id."""
        asked = self.tasks if tasks is None else tasks
        return tuple(self._draw(skill, trial, task.id) for task in sorted(asked, key=lambda task: task.id))

    async def stream(self, skill: Skill, trial: int, tasks: Sequence[Task]) -> AsyncGenerator[TaskResult, None]:
        """One trial, in the order given."""
        for task in tasks:
            yield self._draw(skill, trial, task.id)

    def _draw(self, skill: Skill, trial: int, task_id: str) -> TaskResult:
        results = self._seen[task_id]
        place = f"{self._seed}/{skill.digest}/{trial}/{task_id}".encode()
        return results[int.from_bytes(hashlib.blake2b(place, digest_size=8).digest()) % len(results)]


async def false_accepts(
    gate: Gate, seen: Mapping[str, Sequence[TaskResult]], rule: GateRule, *, pool: Pool, runs: int = 200
) -> float:
    """How often the gate accepts a candidate that changes nothing, 0..1, given the valid trials seen of each task.

    `pool`: the trials that the current skill's estimate rests on.
    """
    base, candidate = (Skill("simulated", {"SKILL.md": name}) for name in (b"base", b"twin"))
    accepted = 0
    for seed in range(runs):
        verdict = await gate.judge(base, candidate, Resampled(seen, rule, seed), pool)
        accepted += verdict.ruling == "accepted"
    return accepted / runs
