"""One scope of the budget: what was spent in it against what may be."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.budget.reached import BudgetReached, Scope
from daemon.budget.totals import Totals
from daemon.config import ConfigError
from daemon.config_train import CapSection
from sandboxes.gateway.policy import Usage


@dataclass
class Meter:
    """Counts; knows nothing of who spends."""

    scope: Scope
    caps: CapSection
    spent: Totals
    seconds: float
    """Wall time of earlier processes."""
    started: float
    """When this process began to count here (Unix time)."""

    def add(self, attempts: int, usage: Usage) -> None:
        """Count what was begun or has ended."""
        self.spent = self.spent.plus(attempts, usage)

    def elapsed(self, now: float) -> float:
        """Seconds of wall time, this process's among them; a clock that was turned back gives none."""
        return self.seconds + max(0.0, now - self.started)

    def check(self, now: float) -> None:
        """Raise `BudgetReached` if a cap is used up, and `ConfigError` if money is capped and not known."""
        caps, spent = self.caps, self.spent
        if caps.usd is not None and spent.usd is None:
            msg = (
                f"[budget.{self.scope}] usd cannot be kept: some of what this {self.scope} has used has no known price "
                "(set `price` in [target] and [optimizer], or cap tokens instead)"
            )
            raise ConfigError(msg)
        if caps.attempts is not None and spent.attempts >= caps.attempts:
            raise BudgetReached(self.scope, "attempts", caps.attempts, spent.attempts)
        if caps.tokens is not None and spent.tokens >= caps.tokens:
            raise BudgetReached(self.scope, "tokens", caps.tokens, spent.tokens)
        if caps.usd is not None and spent.usd is not None and spent.usd >= caps.usd:
            raise BudgetReached(self.scope, "usd", caps.usd, spent.usd)
        if caps.minutes is not None and self.elapsed(now) >= caps.minutes * 60:
            raise BudgetReached(self.scope, "minutes", caps.minutes, self.elapsed(now) / 60)

    def has_room(self, tokens: float, usd: float) -> bool:
        """Something would still be left if what is in flight used this much."""
        caps, spent = self.caps, self.spent
        if caps.tokens is not None and spent.tokens + tokens >= caps.tokens:
            return False
        return caps.usd is None or spent.usd is None or spent.usd + usd < caps.usd
