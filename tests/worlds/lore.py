"""What there is to know in a world: areas of work, the causes of failure in them, and rules that may or may not help.

A rule is one line of SKILL.md. The simulated optimizer model knows this much, as a real one knows its trade: which
rules answer which cause, and how plausible each looks. Which of them helps is the world's secret (`world.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

AREAS = ("dates", "sums", "names", "units", "lists", "forms")
STYLES = ("verify", "prepare", "shorten", "assume")
"""Kinds of rules. In a given world some kinds are sounder than others: that is what a meta skill can learn."""

_RULE = re.compile(r"\b([a-z]+-[a-z]\d+) \(([a-z]+)\)")
_DISREGARD = re.compile(r"\b[Dd]isregard ([a-z]+-[a-z]\d+)\b")


@dataclass(frozen=True)
class Cause:
    """Why attempts in an area fail."""

    id: str
    """`dates-b`."""
    deep: bool = False
    """One attempt does not show it: only a comparison over epochs does."""

    @property
    def area(self) -> str:
        """Its area of work."""
        return self.id.partition("-")[0]


@dataclass(frozen=True)
class Rule:
    """One thing a skill can say."""

    id: str
    """`dates-b3`: the fourth answer to cause `dates-b`."""
    style: str
    plausible: float
    """How good it looks to somebody who knows the trade, 0..1; true worth and noise."""

    @property
    def cause(self) -> str:
        """The cause it claims to mend."""
        return self.id.rstrip("0123456789")

    @property
    def area(self) -> str:
        """Its area of work."""
        return self.id.partition("-")[0]

    @property
    def line(self) -> str:
        """As it stands in a skill."""
        return f"- {self.id} ({self.style}): before you hand over anything about {self.area}, {self.style} it that way."


@dataclass(frozen=True)
class Lore:
    """The causes and rules of a world."""

    causes: tuple[Cause, ...]
    rules: tuple[Rule, ...]
    _by_id: dict[str, Rule] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_id.update({rule.id: rule for rule in self.rules})

    def rule(self, rule_id: str) -> Rule | None:
        """The rule of that id, if there is one."""
        return self._by_id.get(rule_id)

    @cached_property
    def answers(self) -> dict[str, tuple[Rule, ...]]:
        """The rules that claim to mend each cause."""
        return {cause.id: tuple(rule for rule in self.rules if rule.cause == cause.id) for cause in self.causes}

    def deep_causes(self, area: str) -> list[str]:
        """The causes of an area that one attempt does not show."""
        return [cause.id for cause in self.causes if cause.deep and cause.area == area]


def said(text: str) -> tuple[str, ...]:
    """The rules a text names as rules, each once, in order."""
    return tuple(dict.fromkeys(match[0] for match in _RULE.findall(text)))


def in_force(text: str) -> frozenset[str]:
    """The rules that a reader of the skill follows: what it says, but for what it says to disregard."""
    return frozenset(said(text)) - frozenset(_DISREGARD.findall(text))


def disregard(rule_ids: Iterable[str]) -> list[str]:
    """Lines that take rules out of force without touching them."""
    return [f"- Disregard {rule_id}: what it asks for made things worse." for rule_id in rule_ids]
