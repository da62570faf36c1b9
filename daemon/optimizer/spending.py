"""What a decision cost: the scored attempts that it rests on, whoever paid for them.

Invariant: a function of results, never of what was read back or tried again, so a resumed run counts the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from daemon.optimizer.decision import Judged
from daemon.rollouts.result import TaskResult, usage_of
from sandboxes.gateway.policy import Usage
from skills_repo.message import Cost


@dataclass
class Spending:
    """Sums up what a step uses."""

    attempts: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, results: Iterable[TaskResult]) -> None:
        """Count these results; invalid ones cost something too, but how often they are tried is chance."""
        for result in results:
            if result.valid:
                self.attempts += 1
                self.usage += usage_of(result.record)


def cost_of(decision: Judged) -> Cost:
    """What its commits say."""
    total = decision.target_usage + decision.optimizer_usage
    return Cost(decision.attempts, total.tokens, total.usd)
