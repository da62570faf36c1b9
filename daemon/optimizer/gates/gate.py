"""The seam between a step and its gate, and its three kinds: `paired`, `strict`, `off`.

A verdict is a function of results by task id and trial: the same whatever finished first and however many ran at once.
"""

from __future__ import annotations

from typing import Protocol

from daemon.config_train import TrainSection
from daemon.optimizer.gates.arms import Standing
from daemon.optimizer.gates.measure import Measured, Selection
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool, Verdict
from skills_repo.skill import Skill


class Gate(Protocol):
    """Judges candidates on the selection split.

    Which trials exist is told by pools, never by what happens to be journaled. All raise `RunStopped` when a failure
    makes going on useless.
    """

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """The initial skill: what the first candidate has to beat."""

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """Whether the candidate is better than its base; `pool` is the base's, from `measure` or a verdict."""

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """The figures of a run's end, over the tasks with a score under both skills."""


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
    shorter = train.size_penalty > 0
    if train.gate == "off":
        return NoGate()
    if train.gate == "strict":
        return StrictGate(shorter_wins=shorter)
    return PairedGate(train.gate_trials, train.gate_pool, train.gate_error, shorter_wins=shorter)
