"""A world: tasks that pass with a known probability given what the skill says.

`p = luck x (every cause of the task: sure if mended, else its own odds) x (every harmful rule in force) x (length)`.
The outcome of an attempt is a hash of (world, skill, task, trial) against p: reproducible, and in no order.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daemon.tasks.task import ScorerSpec, Split, Task, TaskSet
from skills_repo.skill import Skill
from tests.worlds.lore import Lore, Rule, in_force

SURE = 0.96
"""Of a cause that a rule mends."""


@dataclass(frozen=True)
class Case:
    """What decides one task."""

    id: str
    split: Split
    area: str
    luck: float = 1.0
    causes: tuple[tuple[str, float], ...] = ()
    """Cause id and the odds of getting past it without a rule."""


@dataclass(frozen=True)
class Length:
    """What a long document costs."""

    free: int = 1_600
    """Characters that cost nothing."""
    every: int = 400
    cost: float = 0.015
    """Share of every probability lost for each `every` characters more."""

    def factor(self, chars: int) -> float:
        """0..1."""
        return max(0.2, 1 - self.cost * max(0, chars - self.free) / self.every)


@dataclass(frozen=True)
class Ending:
    """How an attempt went."""

    solved: bool
    failed_by: str = ""
    """The cause or rule id that was its undoing; empty if solved, or if it was luck or length."""


@dataclass(frozen=True)
class World:
    """The whole truth. Nothing under test reads it but through the agent."""

    seed: int
    lore: Lore
    cases: tuple[Case, ...]
    helpful: Mapping[str, str]
    """Rule id to the cause it mends."""
    harmful: Mapping[str, float]
    """Rule id to the factor it puts on its area's tasks, 0..1."""
    spoils: Mapping[str, str]
    """Rule id to the helpful rule it contradicts: both in force, the cause is mended half."""
    length: Length = Length()
    _cases: dict[str, Case] = field(init=False, repr=False, compare=False, default_factory=dict)
    _read: dict[str, frozenset[str]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._cases.update({case.id: case for case in self.cases})

    def tasks(self) -> TaskSet:
        """The tasks as honed gets them: nothing of the truth is in them but the area."""
        made = (
            Task(
                id=case.id,
                prompt=f"Do piece {number} of the work on {case.area}.",
                scorer=ScorerSpec("exact_match"),
                split=case.split,
                group=case.area,
                digest=f"sha256:{self.seed}-{case.id}",
            )
            for number, case in enumerate(self.cases)
        )
        return TaskSet(tuple(sorted(made, key=lambda task: task.id)), Path("tasks.jsonl"))

    def probability(self, text: str, task_id: str) -> float:
        """The chance that an attempt at the task passes under a skill that says this."""
        return math.prod(chance for _, chance in self._hurdles(text, task_id))

    def true_score(self, skill: Skill, split: Split) -> float:
        """The expected score on a split, exactly."""
        chances = [self.probability(skill.text, case.id) for case in self.cases if case.split == split]
        return math.fsum(chances) / len(chances)

    def attempt(self, text: str, task_id: str, trial: int) -> Ending:
        """What comes of one attempt: the first hurdle it does not take is its undoing."""
        key = f"{self.seed}/{hashlib.sha256(text.encode()).hexdigest()}/{task_id}/{trial}"
        for position, (name, chance) in enumerate(self._hurdles(text, task_id)):
            if draw(f"{key}/{position}") >= chance:
                return Ending(False, name)
        return Ending(True)

    def _hurdles(self, text: str, task_id: str) -> Iterable[tuple[str, float]]:
        case, rules = self._cases[task_id], self._in_force(text)
        yield "", case.luck * self.length.factor(len(text))
        for cause, odds in case.causes:
            yield cause, self._past(cause, odds, rules)
        for rule in sorted(rules & self.harmful.keys()):
            if _area(rule) == case.area:
                yield rule, self.harmful[rule]

    def _past(self, cause: str, odds: float, rules: frozenset[str]) -> float:
        mending = {rule for rule in rules if self.helpful.get(rule) == cause}
        if not mending:
            return odds
        clean = mending - {self.spoils[rule] for rule in rules if rule in self.spoils}
        return SURE if clean else (SURE + odds) / 2

    def _in_force(self, text: str) -> frozenset[str]:
        if text not in self._read:
            self._read[text] = in_force(text)
        return self._read[text]


def draw(key: str) -> float:
    """A uniform number in [0, 1) for a key, the same everywhere."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") / 2**64


def _area(rule_id: str) -> str:
    return rule_id.partition("-")[0]


def kind(world: World, rule: Rule) -> str:
    """`helpful`, `harmful` or `useless`."""
    return "helpful" if rule.id in world.helpful else "harmful" if rule.id in world.harmful else "useless"
