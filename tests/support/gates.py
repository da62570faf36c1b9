"""Worlds for the gates: every task passes with a known probability under each skill; results are made by a hash.

The harness answers at once; all else (rollouts, journal, selection, gate) is the real code.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.rule import GateRule
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score, Task
from harnesses.harness import Assignment, Attempt
from harnesses.outcome import Outcome
from harnesses.traces.trace import Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected
from skills_repo.skill import Skill
from tests.support.optimizer import make_result, make_skill, make_task, no_wait

RUN = "r1"
Rates = Mapping[str, float]
"""Task id to the probability that it passes."""


def draw(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    text = "/".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest()) / 256**7


@dataclass
class RateHarness:
    """An agent that passes each task at its skill's rate."""

    seed: int
    rates: dict[str, Rates] = field(default_factory=dict)
    """Skill digest to rates."""
    soft: bool = False
    """Scores are parts: the rate, and noise around it."""
    invalid: float = 0.0
    """Share of attempts that end without a score, at every try."""
    chaos: random.Random | None = None
    """Where given, attempts end in random order."""
    name: str = "chat"
    runs: list[tuple[str, str, int]] = field(default_factory=list)
    """(skill digest, task id, trial) of every attempt made."""

    def settings(self) -> Mapping[str, str]:
        return {"provider": "fakeprovider", "model": "fake-1"}

    async def run(self, assignment: Assignment) -> Attempt:
        for _ in range(self.chaos.randrange(8) if self.chaos else 0):
            await asyncio.sleep(0)
        digest = assignment.skill.digest if assignment.skill else ""
        place = (digest, assignment.task_id, assignment.seed or 0)
        self.runs.append(place)
        lost = draw("lost", self.seed, *place) < self.invalid
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=Outcome.SKILL_NOT_VISIBLE if lost else Outcome.COMPLETED,
            detail="",
            trace=Trace(final_answer=str(self._score(*place)), skill_listed=True, skill_opened=True, finished=True),
            summary="",
            workspace=Collected({}),
            usage=Usage(),
            wall_s=0.0,
        )

    def _score(self, digest: str, task_id: str, trial: int) -> float:
        rate, luck = self.rates[digest][task_id], draw(self.seed, digest, task_id, trial)
        if not self.soft:
            return 1.0 if luck < rate else 0.0
        return min(1.0, max(0.0, round(rate + 0.4 * (luck - 0.5), 2)))


class Inline(ThreadPoolExecutor):
    """Runs at once what would go to a thread: for worlds of many thousand attempts that wait for nothing."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


async def verify_rate(task: Task, result: Result) -> Score:
    """The score that the harness answered; solved at 1."""
    value = float(result.final_answer)
    return Score(value, value >= 1)


@dataclass
class GateWorld:
    """A selection split and skills of known worth."""

    folder: Path
    base: Sequence[float]
    """The rates of the first skill, task by task."""
    seed: int = 0
    soft: bool = False
    invalid: float = 0.0
    workers: int = 8
    chaos: random.Random | None = None
    rule: GateRule = field(default_factory=GateRule)
    weights: Sequence[float] = ()
    protect: Sequence[int] = ()
    harness: RateHarness = field(init=False)
    tasks: tuple[Task, ...] = field(init=False)
    skill: Skill = field(init=False)

    def __post_init__(self) -> None:
        self.harness = RateHarness(self.seed, soft=self.soft, invalid=self.invalid, chaos=self.chaos)
        self.tasks = tuple(
            make_task(
                f"t{i:03}", "selection", weight=self.weights[i] if self.weights else 1.0, protect=i in self.protect
            )
            for i in range(len(self.base))
        )
        self.skill = self.version(self.base, "base")

    def version(self, rates: Sequence[float], name: str) -> Skill:
        """A skill under which the tasks pass at these rates."""
        skill = make_skill(f"- version {name}")
        self.harness.rates[skill.digest] = {task.id: rate for task, rate in zip(self.tasks, rates, strict=True)}
        return skill

    async def selection(self) -> Selection:
        """A fresh process over a fresh journal."""
        journal = MemoryJournal()
        await journal.open_run(RunRecord(RUN, "f", "demo", "c", "open", 0.0))
        rollouts = Rollouts(
            self.harness,
            verify_rate,
            journal,
            attempts_folder=self.folder,
            workers=self.workers,
            settings=AttemptSettings(tries=1),
            sleep=no_wait,
        )
        return Selection(rollouts, self.tasks, RUN, self.rule)


@dataclass
class Script:
    """What every trial of every task comes to, by skill: a score, or None for invalid. The last one given repeats."""

    scores: dict[str, dict[str, Sequence[float | None]]] = field(default_factory=dict)
    """Skill digest to task id to scores by trial."""


class ScriptedSelection(Selection):
    """A selection split without rollouts: results are looked up. It counts what it is asked."""

    def __init__(self, tasks: Sequence[Task], rule: GateRule | None = None) -> None:
        self.tasks = tuple(tasks)
        self.rule = rule or GateRule()
        self.script = Script()
        self.asked: list[tuple[str, int, str]] = []
        """(skill's text, trial, task id) of every result given."""

    def version(self, name: str, scores: Mapping[str, Sequence[float | None] | float | None]) -> Skill:
        """A skill with these scores; one score stands for all trials."""
        skill = make_skill(f"- version {name}")
        rows = {key: row if isinstance(row, Sequence) else [row] for key, row in scores.items()}
        self.script.scores[skill.digest] = rows
        return skill

    async def results(
        self, skill: Skill, trial: int = 0, tasks: Sequence[Task] | None = None
    ) -> tuple[TaskResult, ...]:
        asked = self.tasks if tasks is None else tasks
        return tuple(self._result(skill, trial, task) for task in sorted(asked, key=lambda task: task.id))

    async def stream(self, skill: Skill, trial: int, tasks: Sequence[Task]) -> AsyncGenerator[TaskResult, None]:
        for task in tasks:
            yield self._result(skill, trial, task)

    def count(self, skill: Skill) -> int:
        """Results given of this skill."""
        return sum(text == skill.text for text, _, _ in self.asked)

    def _result(self, skill: Skill, trial: int, task: Task) -> TaskResult:
        self.asked.append((skill.text, trial, task.id))
        row = self.score(skill, trial, task)
        return replace(make_result(task.id, row), task=task)

    def score(self, skill: Skill, trial: int, task: Task) -> float | None:
        """What the trial comes to."""
        scores = self.script.scores[skill.digest][task.id]
        return scores[min(trial, len(scores) - 1)]


class RateSelection(ScriptedSelection):
    """The same, each trial drawn by the task's pass rate (a single number per task) and a seed."""

    def __init__(self, tasks: Sequence[Task], seed: int, rule: GateRule | None = None) -> None:
        super().__init__(tasks, rule)
        self._seed = seed

    def score(self, skill: Skill, trial: int, task: Task) -> float | None:
        rate = self.script.scores[skill.digest][task.id][0]
        assert rate is not None
        return 1.0 if draw(self._seed, skill.digest, task.id, trial) < rate else 0.0


def selection_tasks(n: int, **fields: Any) -> tuple[Task, ...]:
    """Selection tasks `t00`, `t01`, …"""
    return tuple(make_task(f"t{i:02}", "selection", **fields) for i in range(n))
