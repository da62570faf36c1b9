"""What a gate found: plain data, kept whole in a step's decision.

Nothing here depends on timing, on the order of completion or on what happened to be cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ruling = Literal["accepted", "rejected", "indecisive"]


@dataclass(frozen=True)
class Pool:
    """Which trials of a skill count for its estimate: trial numbers `first` to `first + count - 1` of every task."""

    first: int = 0
    count: int = 0

    @property
    def end(self) -> int:
        """The next trial number."""
        return self.first + self.count


@dataclass(frozen=True)
class Look:
    """What was known when the gate looked, and why it went on or stopped."""

    trials: int
    """Trials per task of the candidate so far, at most."""
    attempts: int
    """Attempts asked so far, both arms."""
    before: float | None
    after: float | None
    evidence: float | None
    """The p value at this look; None for a rule without one."""
    reason: str
    """In words."""


@dataclass(frozen=True)
class TaskRow:
    """One task under both skills: a row of the gate table."""

    id: str
    before: float | None
    """Mean of the valid trials by the gate's metric; None without any."""
    before_trials: int
    """Valid trials."""
    after: float | None
    after_trials: int
    weight: float = 1.0
    protect: bool = False


@dataclass(frozen=True)
class Verdict:
    """What the gate found."""

    ruling: Ruling
    before: float | None
    """Mean over the valid pairs; None without any."""
    after: float | None
    delta: float | None
    n: int
    """Valid pairs."""
    of: int
    """Tasks asked for."""
    fixed: tuple[str, ...]
    """Task ids failed before and solved now."""
    broken: tuple[str, ...]
    """Task ids solved before and failed now."""
    rule: str
    """The rule in words, with its figures."""
    standard_error: float | None = None
    """Of `delta`, from within-task variance alone; None where one trial each gives none."""
    evidence: float | None = None
    """The p value of the last look; None for a rule without one."""
    before_trials: int = 0
    """Most trials per task of the current skill."""
    after_trials: int = 0
    looks: tuple[Look, ...] = ()
    rows: tuple[TaskRow, ...] = ()
    """By task id; tasks that were not asked, or invalid, have None."""
    before_attempts: int = 0
    """Attempts of the current skill that this judgement asked for and that no earlier one had."""
    after_attempts: int = 0
    base_pool: Pool = Pool()
    """Of the current skill, if the candidate is not accepted."""
    candidate_pool: Pool = Pool()
    """Of the candidate, if it is accepted."""

    @property
    def valid_share(self) -> float:
        """Valid pairs as a share of the tasks, 0..1."""
        return self.n / self.of if self.of else 0.0
