"""What a gate found: plain data, kept whole in a step's decision.

Nothing here depends on timing, on the order of completion or on what happened to be cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daemon.optimizer.gates.measure import Measured

Ruling = Literal["accepted", "rejected", "indecisive"]


@dataclass(frozen=True)
class Pool:
    """Which trials of a skill its estimate rests on: numbers `first` to `first + count - 1` of every task.

    The numbers follow from the gate's schedule alone, never from results: an estimate that is topped up only while it
    looks bad (or good) would not be a fair one.
    """

    first: int = 0
    count: int = 0
    asked: int = 0
    """Trial numbers below this may have been seen by a judgement; a fresh one is not."""

    @property
    def trials(self) -> range:
        """The trial numbers."""
        return range(self.first, self.first + self.count)

    @property
    def fresh(self) -> int:
        """The first trial number that nobody has seen."""
        return max(self.asked, self.first + self.count)


@dataclass(frozen=True)
class Look:
    """What was known when the gate looked, and why it went on or stopped."""

    trials: int
    """Most trials of a task of the candidate so far."""
    tasks: int
    """Tasks that the candidate was asked so far."""
    attempts: int
    """Attempts asked for so far, both arms."""
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
    group: str = ""
    """The task's group, where train tasks are of it, too: its figures may be told."""


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
    """Tasks asked for: the whole split, or fewer where the rest could not change the ruling."""
    fixed: tuple[str, ...]
    """Task ids failed before and solved now (in most of their trials)."""
    broken: tuple[str, ...]
    """Task ids solved before and failed now (in most of their trials)."""
    rule: str
    """The rule in words, with its figures."""
    standard_error: float | None = None
    """Of `delta`, from the differences between trials of the same task; None where one trial each shows none."""
    evidence: float | None = None
    """The p value of the last look; None for a rule without one."""
    before_trials: int = 0
    """Most trials of a task that `before` rests on."""
    after_trials: int = 0
    """The same of `after`."""
    looks: tuple[Look, ...] = ()
    rows: tuple[TaskRow, ...] = ()
    """The tasks asked for, by id."""
    before_attempts: int = 0
    """Attempts of the current skill that this judgement asked for beyond those it was given."""
    after_attempts: int = 0
    """Attempts of the candidate that this judgement asked for."""
    current: float | None = None
    """The score, over the whole split, of the skill that is current after this verdict, by the trials of its pool:
    what a report should say."""
    measured: Measured | None = None
    """The candidate's figures over the trials that `after` rests on."""
    base_pool: Pool = Pool()
    """Of the current skill, if the candidate is not accepted."""
    candidate_pool: Pool = Pool()
    """Of the candidate, if it is accepted."""

    @property
    def valid_share(self) -> float:
        """Valid pairs as a share of the tasks, 0..1."""
        return self.n / self.of if self.of else 0.0
