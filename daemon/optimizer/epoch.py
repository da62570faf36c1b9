"""The end of an epoch: the slow update and the optimizer's notes, from the same comparison of two skills.

Their questions do not depend on each other, so they are asked at the same time; the notes on an epoch do not know yet
what became of its own slow update, those of the next one do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from daemon.optimizer.batches import StepPlan
from daemon.optimizer.decision import MetaSkillDecision, SlowUpdateDecision
from daemon.optimizer.meta_skill import rewrite
from daemon.optimizer.slow_update import Comparison, SlowUpdate, compare
from daemon.optimizer.state import State
from daemon.optimizer.tools import Tools
from daemon.rollouts.parallel import both
from daemon.rollouts.progress import PhaseStarted

T = TypeVar("T")


@dataclass(frozen=True)
class EpochDecisions:
    """What the end of an epoch decided; None for what is switched off."""

    slow_update: SlowUpdateDecision | None
    meta_skill: MetaSkillDecision | None


@dataclass(frozen=True)
class EpochEnd:
    """One epoch's end in the making."""

    tools: Tools
    plan: StepPlan
    state: State
    last: bool
    """No step comes after it: nobody would read new notes."""

    async def run(self, slow: SlowUpdateDecision | None, notes: MetaSkillDecision | None) -> EpochDecisions:
        """Decide what is not decided yet; raises `RunStopped` if a provider or an engine is beyond help."""
        train = self.tools.knobs.train
        wants_slow = train.slow_update != "off" and slow is None
        wants_notes = train.meta_skill and not self.last and notes is None
        if not (wants_slow or wants_notes):
            return EpochDecisions(slow, notes)
        compared, counts = None, slow.counts if slow else {}
        sampled = len(slow.sampled) if slow else 0
        if wants_slow:
            self.tools.observer.notify(PhaseStarted(self.plan.step, "slow_update", "rollouts of two epochs' skills"))
            compared = await compare(self.tools, self.state, self.plan.epoch)
            counts, sampled = compared.counts, len(compared.sampled)
        return EpochDecisions(
            *await both(
                self._slow(compared) if compared else _given(slow),
                self._notes(sampled, counts) if wants_notes else _given(notes),
            )
        )

    async def _slow(self, compared: Comparison) -> SlowUpdateDecision:
        return await SlowUpdate(self.tools, self.state, self.plan.step, self.plan.epoch, compared).run()

    async def _notes(self, sampled: int, counts: Mapping[str, int]) -> MetaSkillDecision:
        step, epoch = self.plan.step, self.plan.epoch
        return await rewrite(self.tools, self.state, step=step, epoch=epoch, sampled=sampled, counts=counts)


async def _given(value: T) -> T:
    return value
