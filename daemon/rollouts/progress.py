"""What honed says while it works. The command line renders it, the daemon logs it; nothing decides on it.

Events are plain data and arrive in order of happening, which is not the order of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class RunStarted:
    """A training run begins, or goes on."""

    run_id: str
    skill: str
    resumed: bool
    steps: int
    """How many steps this configuration buys."""
    train: int
    selection: int
    test: int


@dataclass(frozen=True)
class PhaseStarted:
    """A phase begins: `baseline`, `rollout`, `merge`, `rank`, `gate`, `commit`, `slow_update`, `test` and so on."""

    step: int
    """0 outside the steps."""
    phase: str
    detail: str = ""


@dataclass(frozen=True)
class AttemptStarted:
    """An agent starts on a task."""

    attempt_id: str
    task_id: str
    harness: str
    number: int
    """1 for the first try."""


@dataclass(frozen=True)
class AttemptFinished:
    """An attempt ended, or its result was read back from the journal."""

    attempt_id: str
    task_id: str
    harness: str
    outcome: str
    score: float | None
    """None: invalid."""
    solved: bool | None
    tokens: int
    usd: float | None
    """None: the price is unknown."""
    wall_s: float
    reused: bool
    detail: str = ""


@dataclass(frozen=True)
class StepDecided:
    """A step came to its decision."""

    step: int
    steps: int
    outcome: str
    reason: str
    before: float | None
    after: float | None
    edits: int
    """Edits in the candidate."""
    replayed: bool
    """Decided before a restart and read back."""
    commits: tuple[str, ...] = ()
    """What an accepted one became."""
    flagged: tuple[str, ...] = ()
    """What a person should look at in it: `kind: file: text`."""


@dataclass(frozen=True)
class SlowUpdateDecided:
    """The slow update at the end of an epoch came to its decision."""

    step: int
    """The epoch's last one."""
    epoch: int
    outcome: str
    reason: str
    before: float | None
    after: float | None
    replayed: bool
    commits: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()


def kinds_of(flagged: Sequence[str]) -> list[str]:
    """The kinds alone of what was flagged, in order: nothing of a model's words."""
    return sorted({flag.partition(":")[0] for flag in flagged})


@dataclass(frozen=True)
class RunEnded:
    """A run came to its end."""

    run_id: str
    state: Literal["done", "failed", "stopped"]
    """`stopped`: by the budget, as was asked for."""
    reason: str


Event = RunStarted | PhaseStarted | AttemptStarted | AttemptFinished | StepDecided | SlowUpdateDecided | RunEnded


class Observer(Protocol):
    """Whoever listens."""

    def notify(self, event: Event) -> None:
        """Take note; must not block and must not raise."""


class Silent:
    """Listens to nothing."""

    def notify(self, event: Event) -> None:
        """Drop it."""
