"""What a body tells beyond the commits themselves. All of it may be unknown; texts may come from models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Place = tuple[str, int, str]
"""Run, step and phase, as `skills_repo.message.place_of` reads them from trailers."""


@dataclass(frozen=True)
class Figures:
    """One row of the table: a split under the skill before and after; scores are means in 0..1."""

    split: str
    tasks: int
    trials: int
    before: float
    after: float
    standard_error: float | None = None
    valid: float | None = None
    """Share of tasks measured under both, 0..1."""
    tokens: int | None = None
    usd: float | None = None

    @property
    def delta(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True)
class StepFacts:
    """What is known of one accepted step."""

    fixed: tuple[str, ...] = ()
    """Task ids failed before and solved after."""
    broken: tuple[str, ...] = ()
    tokens: int | None = None
    """Paid for the step, target and optimizer."""
    usd: float | None = None


@dataclass(frozen=True)
class RejectedEdit:
    """An alternative that was tried or proposed and not kept."""

    step: int
    op: str
    text: str
    """Empty where it is not shown."""
    why: str


@dataclass(frozen=True)
class Excerpt:
    """A piece of what an agent did on a training task that an edit names as its evidence."""

    step: int
    task: str
    text: str
    """Without gold and held-out text."""


@dataclass(frozen=True)
class Facts:
    """Everything handed in from outside git."""

    steps: Mapping[Place, StepFacts] = field(default_factory=dict)
    sealed: tuple[Figures, ...] = ()
    """The sealed test split, where a run has opened it for this very skill."""
    rejected: tuple[RejectedEdit, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    """Name to version: honed, the sandbox image."""
