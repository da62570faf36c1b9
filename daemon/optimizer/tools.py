"""What every phase of a run works with, and how a phase says that no further one is needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.decision import StepOutcome
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.gates.gate import Gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.real_use import RealUse
from daemon.optimizer.refusals import Refusals
from daemon.optimizer.settings import Knobs
from daemon.rollouts.progress import Observer
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task


@dataclass(frozen=True)
class Tools:
    """What every step of a run works with."""

    run_id: str
    rollouts: Rollouts
    optimizer: Optimizer
    selection: Selection
    gate: Gate
    firewall: Firewall
    refusals: Refusals
    train: Mapping[str, Task]
    knobs: Knobs
    observer: Observer
    clock: Callable[[], float] = time.time
    real_use: RealUse | None = None


class EndedError(Exception):
    """A step or a slow update needs no further phase: how it ended, and why in words."""

    def __init__(self, outcome: StepOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome: StepOutcome = outcome
        self.reason = reason
