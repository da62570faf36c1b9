"""A training in memory whose every write has a time of its own, and its views."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.loop import Training
from daemon.readback.find import find_run
from daemon.readback.run import RunView, read_run
from daemon.readback.step import StepView, read_step
from tests.support.optimizer import ScriptedOptimizer, World, WorldHarness, sensible, task_set

KNOBS = TrainSection(
    epochs=1,
    batch=4,
    minibatch=2,
    edit_budget=1,
    min_edit_budget=1,
    gate="strict",
    slow_update="off",
    meta_skill=False,
)


class Ticking:
    """Every look at it is a second later."""

    def __init__(self) -> None:
        self._count = itertools.count(1_700_000_000)

    def __call__(self) -> float:
        return float(next(self._count))


@dataclass
class TickingWorld(World):
    """A world in which no two things happen at the same time."""

    clock: Ticking = field(default_factory=Ticking)

    def training(self) -> Training:
        """A new process over the same journal and history."""
        return replace(super().training(), clock=self.clock)


def world(folder: Path, *, train: TrainSection = KNOBS, client: ScriptedOptimizer | None = None) -> TickingWorld:
    """Eight train tasks whose three rules the optimizer finds one a step."""
    tasks = task_set(8, 4, 3)
    rules = {task.id: [f"rule-{number % 3}"] for number, task in enumerate(tasks.tasks)}
    clock = Ticking()
    asked = client or ScriptedOptimizer(sensible)
    journal = MemoryJournal(clock)
    return TickingWorld(folder, WorldHarness(rules), tasks, asked, journal, train=train, clock=clock)


async def trained(made: TickingWorld) -> RunView:
    """The view of the run that the world has trained."""
    await made.training().run()
    return await viewed(made)


async def viewed(made: World, name: str = "latest") -> RunView:
    """The view of a run as it stands."""
    return await read_run(made.journal, await find_run(made.journal, name, "skills/demo"))


async def step_of(made: World, view: RunView, number: int) -> StepView:
    """The view of one step."""
    decision = view.step(number)
    assert decision is not None
    return await read_step(made.journal, view, decision)


def drawn(render: Callable[[Console], None]) -> str:
    """What a terminal would show."""
    console = Console(file=io.StringIO(), width=200, force_terminal=False, highlight=False)
    render(console)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()
