"""When a run is over before its last step, in words: nothing better can be found, or nothing is left to learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.optimizer.batches import StepPlan
from daemon.optimizer.state import State
from daemon.optimizer.wording import counted

DEAF = 3
"""Steps in a row without one usable reply of the optimizer, after which asking on is a waste."""


@dataclass(frozen=True)
class Ending:
    """Watches a run's state. Pure: a replayed run ends where the first one did."""

    plans: Sequence[StepPlan]
    gated: bool = True

    def before(self, plan: StepPlan, state: State) -> str:
        """Why this step is not made, nor any later one; empty to go on."""
        if perfect := self.perfect(state):
            return perfect
        last = [step for step in state.steps if step.epoch == plan.epoch - 1]
        starts_epoch = not state.steps or state.steps[-1].epoch < plan.epoch
        same = not any(slow.epoch == plan.epoch - 1 and slow.outcome == "accepted" for slow in state.slow_updates)
        if starts_epoch and same and last and all(step.outcome == "nothing_to_learn" for step in last):
            return f"every train task of epoch {plan.epoch - 1} was solved: nothing is left to learn from"
        return ""

    def perfect(self, state: State) -> str:
        """Why neither a step nor a slow update could find anything better; empty if one could."""
        if not (self.gated and state.current.perfect):
            return ""
        when = f"after step {state.steps[-1].step}" if state.steps else "before the first step"
        return f"{when} the selection score is 1.0: nothing better can be found"

    def useless(self, state: State) -> str:
        """Why going on, now or later, would only repeat what failed; empty if it would not."""
        if not state.steps:
            return ""
        newest = state.steps[-1]
        epoch = [step for step in state.steps if step.epoch == newest.epoch]
        whole = sum(plan.epoch == newest.epoch for plan in self.plans) == len(epoch)
        if whole and all(step.outcome == "no_valid_attempts" for step in epoch):
            return f"no attempt of epoch {newest.epoch} was valid: {newest.reason}"
        tail = state.steps[-DEAF:]
        enough = len(tail) == DEAF or len(state.steps) == len(self.plans)
        if enough and all(step.outcome == "optimizer_error" for step in tail):
            steps = f"{len(tail)} steps in a row" if len(tail) > 1 else "the run's only step"
            return (
                f"the optimizer model gave no usable reply in {steps}: {newest.reason}: try another [optimizer] model"
            )
        return ""

    def of(self, state: State) -> tuple[str, bool]:
        """How a run that makes no further step ended, in words, and whether that is a failure."""
        if useless := self.useless(state):
            return useless, True
        done = len(state.steps)
        early = self.before(self.plans[done], state) if done < len(self.plans) else ""
        return early or f"{len(self.plans)} of {counted(len(self.plans), 'step')} made", False
