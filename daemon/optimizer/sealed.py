"""The sealed test split, opened here alone: after the last decision, for the initial and the best skill.

Reserve, then score: the reservation names both skills and is journaled first, so a run that dies while it reports
can only finish the same report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from daemon.journal.journal import Journal
from daemon.journal.records import Decision
from daemon.optimizer.gates.measure import Measured, measured_in_pairs
from daemon.optimizer.gates.rule import GateRule
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import TaskSet
from skills_repo.skill import Skill


@dataclass(frozen=True)
class SealedTest:
    """One run's way to the test split."""

    journal: Journal
    rollouts: Rollouts
    tasks: TaskSet
    rule: GateRule
    run_id: str
    step: int
    """Where its decisions stand: after the last step."""

    async def report(self, initial: Skill, best: Skill, clock: Callable[[], float]) -> tuple[Measured, Measured]:
        """Before and after, over the tasks with a score under both. An equal best skill costs nothing more."""
        reserved = {"initial": initial.digest, "best": best.digest}
        found = await self._find("test_reserved")
        if found is None:
            await self.journal.save_decision(Decision(self.run_id, self.step, "test_reserved", reserved))
        elif found != reserved:
            msg = f"run {self.run_id} has reserved its test for other skills: its journal does not fit this repository"
            raise RunStopped(msg)
        final = await self._find("final")
        if final is None:
            first = await self._results(initial)
            second = first if best.digest == initial.digest else await self._results(best)
            before, after = measured_in_pairs(first, second, self.rule)
            final = {"when": clock(), "before": before.model_dump(), "after": after.model_dump()}
            await self.journal.save_decision(Decision(self.run_id, self.step, "final", final))
        return Measured.model_validate(final["before"]), Measured.model_validate(final["after"])

    async def _find(self, kind: str) -> dict[str, Any] | None:
        decision = await self.journal.find_decision(self.run_id, self.step, kind)
        return dict(decision.payload) if decision else None

    async def _results(self, skill: Skill) -> tuple[TaskResult, ...]:
        return await self.rollouts.score(skill, self.tasks.open_test(), run_id=self.run_id)
