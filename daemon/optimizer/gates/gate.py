"""The seam between a step and its gate."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from daemon.config_train import TrainSection
from daemon.optimizer.gates.measure import Measured, Selection, measured, measured_in_pairs
from daemon.optimizer.gates.strict import strict
from daemon.optimizer.gates.verdict import Pool, Verdict
from skills_repo.skill import Skill

Standing = tuple[Skill, Pool]
"""A skill and the trials that count for its estimate."""


class Gate(Protocol):
    """Judges candidates on the selection split.

    Which trials exist is told by pools, never by what happens to be journaled.
    """

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """The initial skill: what the first candidate has to beat."""

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """Whether the candidate is better than its base, of which `pool` is known."""

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """The figures of a run's end, over the tasks with a score under both skills."""


class StrictGate:
    """One pass under each skill, the greater mean wins (SkillOpt, validation gate)."""

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """One pass."""
        return measured(await selection.results(skill), selection.rule), Pool(0, 1)

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """One pass under each."""
        before, after = await selection.results(base), await selection.results(candidate)
        return replace(strict(before, after, selection.rule), base_pool=Pool(0, 1), candidate_pool=Pool(0, 1))

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """The passes that were judged."""
        return measured_in_pairs(await selection.results(before[0]), await selection.results(after[0]), selection.rule)


class NoGate:
    """Accepts every candidate unmeasured: the ablation."""

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """Nothing."""
        return Measured(score=None, hard=None, soft=None, n=0, of=len(selection.tasks)), Pool()

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """Accepted."""
        words = "the gate is off: accepted without measuring"
        return Verdict("accepted", None, None, None, 0, len(selection.tasks), (), (), words)

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """Nothing was measured."""
        nothing, _ = await self.measure(before[0], selection)
        return nothing, nothing


def make_gate(train: TrainSection) -> Gate:
    """The gate of `[train] gate`."""
    return NoGate() if train.gate == "off" else StrictGate()
