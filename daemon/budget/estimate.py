"""What a run will take, before anything is paid, and how many steps each cap of `[budget]` buys."""

from __future__ import annotations

from dataclasses import dataclass

from daemon.budget.averages import OneTakes
from daemon.budget.plan import Range, RunPlan
from daemon.budget.reached import Cap, Scope
from daemon.config_train import BudgetSection, CapSection


@dataclass(frozen=True)
class Cost:
    """Of so many attempts and requests; None where it cannot be known yet."""

    tokens: float | None
    usd: float | None
    wall_s: float | None
    """With all workers busy; the optimizer's replies are not in it."""


@dataclass(frozen=True)
class Buys:
    """One cap, and how far it goes."""

    scope: Scope
    cap: Cap
    limit: float
    steps: int | None
    """Whole steps that it pays for at least, after the baseline; None: not known without averages."""

    def words(self, of: int) -> str:
        """As a sentence."""
        name = f"[budget.{self.scope}] {self.cap} = {self.limit:,g}"
        if self.steps is None:
            return f"{name}: how many steps it buys is not known yet"
        if self.scope == "step":
            return f"{name}: {'a whole step fits' if self.steps else 'a step that goes the whole way does not fit'}"
        if self.steps >= of:
            return f"{name} buys all {of} steps"
        return f"{name} buys at least {self.steps} of {of} steps"


@dataclass(frozen=True)
class Estimate:
    """The least and the most that a run takes."""

    plan: RunPlan
    target: OneTakes | None
    """None: the journal has no attempt of this harness and model."""
    optimizer: OneTakes | None
    workers: int
    budget: BudgetSection

    @property
    def least(self) -> Cost:
        """If no edit is ever made."""
        return self.cost(self.plan.all_attempts.least, self.plan.all_requests.least)

    @property
    def most(self) -> Cost:
        """If every step goes the whole way."""
        return self.cost(self.plan.all_attempts.most, self.plan.all_requests.most)

    def cost(self, attempts: int, requests: int) -> Cost:
        """Of so many attempts and optimizer requests, by the averages."""
        target, optimizer = self.target, self.optimizer
        if target is None or (optimizer is None and requests):
            return Cost(None, None, None if target is None else attempts * target.wall_s / self.workers)
        asked = optimizer or OneTakes(0, 0.0, 0.0, 0.0)
        usd = None if target.usd is None or asked.usd is None else attempts * target.usd + requests * asked.usd
        tokens = attempts * target.tokens + requests * asked.tokens
        return Cost(tokens, usd, attempts * target.wall_s / self.workers)

    @property
    def buys(self) -> tuple[Buys, ...]:
        """Every cap that is set, with the steps that it pays for."""
        scopes: tuple[tuple[Scope, CapSection], ...] = (
            ("step", self.budget.step),
            ("run", self.budget.run),
            ("day", self.budget.day),
        )
        caps: tuple[Cap, ...] = ("attempts", "tokens", "usd", "minutes")
        return tuple(
            Buys(scope, cap, limit, self._steps(scope, cap, limit))
            for scope, section in scopes
            for cap in caps
            if (limit := getattr(section, cap)) is not None
        )

    def _steps(self, scope: Scope, cap: Cap, limit: float) -> int | None:
        first = 0.0 if scope == "step" else self._figure(cap, self.plan.first, 0)
        one = self._figure(cap, self.plan.step_attempts, self.plan.step_requests)
        if first is None or one is None:
            return None
        if one <= 0:
            return self.plan.steps
        return min(self.plan.steps, max(0, int((limit - first) / one + 1e-9)))

    def _figure(self, cap: Cap, attempts: int, requests: int) -> float | None:
        """What so much work takes of a cap."""
        cost = self.cost(attempts, requests)
        minutes = None if cost.wall_s is None else cost.wall_s / 60
        return {"attempts": float(attempts), "tokens": cost.tokens, "usd": cost.usd, "minutes": minutes}[cap]

    def line(self) -> str:
        """The estimate in one line, for the start of a run."""
        attempts = self.plan.all_attempts
        head = f"estimate: {self.plan.steps} steps, {_between(attempts)} attempts"
        if self.target is None:
            return f"{head}; what they take is not known yet: the journal has no attempt of this harness and model"
        least, most = self.least, self.most
        parts = [head]
        if most.tokens is not None:
            parts.append(f"{_short(least.tokens)} to {_short(most.tokens)} tokens")
            parts.append("price unknown" if most.usd is None else f"${least.usd or 0:,.2f} to ${most.usd:,.2f}")
        if least.wall_s is not None and most.wall_s is not None:
            parts.append(f"{_minutes(least.wall_s)} to {_minutes(most.wall_s)} with {self.workers} workers")
        return f"{', '.join(parts)} (by the average of {self.target.n} attempts)"


def _between(span: Range) -> str:
    return f"{span.least:,}" if span.least == span.most else f"{span.least:,} to {span.most:,}"


def _short(tokens: float | None) -> str:
    value = tokens or 0.0
    if value >= 1_000_000:
        return f"{value / 1_000_000:.1f} M"
    return f"{value / 1_000:.0f} k" if value >= 1_000 else f"{value:.0f}"


def _minutes(wall_s: float) -> str:
    if wall_s >= 7200:
        return f"{wall_s / 3600:.1f} h"
    return f"{wall_s / 60:.0f} min" if wall_s >= 120 else f"{wall_s:.0f} s"
