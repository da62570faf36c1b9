"""How the simulated optimizer model judges and picks rules: by what is plausible, what it is shown, and some noise."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tests.worlds.lore import Lore, Rule, said
from tests.worlds.reading import Reading, Tried

_PLAIN_TASKS = 24


@dataclass(frozen=True)
class Habits:
    """How good a model it is. Shares of the occasions on which it does so."""

    garbage: float = 0.03
    """Replies that do not parse."""
    misquotes: float = 0.04
    """Edits whose anchor is not in the skill."""
    overlooks: float = 0.05
    """Rules of the skill that it does not notice and proposes again."""
    forgets: float = 0.1
    """Edits that it is shown as rejected alone, and proposes all the same."""
    plain_loss: float = 0.08
    """A loss of score over 24 tasks that it takes for real; of a smaller one it believes a part."""
    guesses: float = 0.4
    """Failures without a visible cause that it makes one up for."""
    praises: float = 0.3
    """Successes that it wants a new rule for."""
    alternatives: int = 2
    """Rules for one cause in one patch, where the budget has room."""
    noise: float = 0.07
    """Standard deviation of a judgement, on the scale of `Rule.plausible`."""
    trust: float = 5.0
    """Weight of what it is shown of earlier gains: what a score of 1 counts on the scale of `Rule.plausible`."""


@dataclass(frozen=True)
class Mind:
    """The model in front of one prompt."""

    lore: Lore
    habits: Habits
    reading: Reading
    rng: random.Random

    def judge(self, rule: Rule) -> float:
        """How good a rule looks now: the trade's view, the model's own record where it is shown one, and noise."""
        records = self.reading.records
        middle = statistics.fmean(records.values()) if records else 0.0
        record = records.get(rule.style, middle) - middle
        for tried in self.reading.rejected.get(rule.id, ()):
            record += tried.gain * tried.tasks / tried.of / tried.size
        return rule.plausible + self.habits.trust * record + self.rng.gauss(0, self.habits.noise)

    def candidates(self, cause: str, taken: Collection[str]) -> list[Rule]:
        """The answers to a cause that it would still propose, best first."""
        open_ = [rule for rule in self.lore.answers.get(cause, ()) if rule.id not in taken and self._fresh(rule)]
        return sorted(open_, key=lambda rule: -self.judge(rule))

    def _fresh(self, rule: Rule) -> bool:
        if rule.id in self.reading.known:
            return self.rng.random() < self.habits.overlooks
        # A set was rejected, not each edit in it, and a small loss may be chance: so much blame is on each.
        blame = sum(self._blame(one) for one in self.reading.rejected.get(rule.id, ()))
        return self.rng.random() < self.habits.forgets**blame

    def _blame(self, tried: Tried) -> float:
        """0..1: a figure over few tasks is chance more often."""
        plain = self.habits.plain_loss * math.sqrt(_PLAIN_TASKS / tried.tasks)
        return min(1.0, max(0.0, -tried.gain) / plain) / tried.size

    def pick(self, causes: Iterable[str], budget: int | None) -> list[Rule]:
        """Rules for these causes: one each in order, then the next best of each, while the budget has room."""
        chosen: list[Rule] = []
        order = list(causes)
        for _ in range(self.habits.alternatives):
            for cause in order:
                left = self.candidates(cause, {rule.id for rule in chosen})
                if left and (budget is None or len(chosen) < budget):
                    chosen.append(left[0])
        return chosen

    def wanted(self, budget: int | None) -> list[Rule]:
        """What it wants after failures: rules for the causes that show, most frequent first, then for guesses."""
        counts = self.reading.causes
        shown = sorted(counts, key=lambda cause: (-counts[cause], cause))
        return self.pick(dict.fromkeys([*shown, *self.guessed()]), budget)

    def blamed(self) -> list[str]:
        """Rules in force that attempts say they were led astray by."""
        return sorted({a.misled_by for a in self.reading.attempts} & self.reading.known)

    def evidence(self, rule: Rule) -> list[str]:
        """The tasks shown that a rule is for."""
        return [attempt.task for attempt in self.reading.attempts if attempt.area == rule.area]

    def guessed(self) -> list[str]:
        """Causes made up for failures that show none."""
        blank = [a for a in self.reading.attempts if a.failed and not a.cause and not a.misled_by and a.area]
        return [self._any_cause(a.area) for a in blank if self.rng.random() < self.habits.guesses]

    def _any_cause(self, area: str) -> str:
        plain = [cause.id for cause in self.lore.causes if cause.area == area and not cause.deep]
        return self.rng.choice(plain) if plain else ""

    def praise(self) -> list[Rule]:
        """Rules that it makes out of successes."""
        areas = sorted({a.area for a in self.reading.attempts if not a.failed and a.area})
        wanted = [area for area in areas if self.rng.random() < self.habits.praises]
        found = (self.candidates(self._any_cause(area), ()) for area in wanted)
        return [rules[self.rng.randrange(len(rules))] for rules in found if rules]


def line_of(skill: str, rule_id: str) -> str:
    """The first whole line of a skill that holds a rule; empty where none does."""
    return next((line for line in skill.splitlines() if rule_id in said(line)), "")
