"""Read prompts the way a model does: by their sections. What is not in the prompt is not known."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from harnesses.models.client import ModelRequest
from tests.worlds.lore import in_force, said

_ATTEMPT = re.compile(r"<attempt ([^>]*)>(.*?)</attempt>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_AREA = re.compile(r"of the work on ([a-z]+)\.")
_CAUSE = re.compile(r"It went wrong at ([a-z]+-[a-z])\b")
_MISLED = re.compile(r"Led astray by ([a-z]+-[a-z]\d+)\b")
_RECORD = re.compile(r"([a-z]+) rules: (\d+) tried, ([+-]\d+\.\d+) points each")
_GROUP = re.compile(r"\b([a-z]+) \((\d+) tasks\) (\d\.\d+) -> (\d\.\d+)")
_FIGURES = re.compile(r"Score on (\d+) held-out tasks? (\d\.\d+) -> (\d\.\d+)")
_PRIOR = 4
"""Trials of a style that its record has to outweigh."""


@dataclass(frozen=True)
class Seen:
    """One attempt as the prompt shows it."""

    task: str
    failed: bool
    area: str
    cause: str
    """Empty where it does not show."""
    misled_by: str
    group: str = ""
    """Where two skills are compared: `regressed` and so on."""
    under: str = ""
    """Where two skills are compared: which one."""


@dataclass(frozen=True)
class Tried:
    """A rejected set of edits as an earlier step shows it."""

    size: int
    """Edits in it; where figures by group are shown, those for the edit's own group."""
    gain: float
    """What the score on held-out tasks (of the group) rose by; not enough for the gate, or less than nothing."""
    tasks: int
    """Held-out tasks (of the group)."""
    of: int
    """Held-out tasks in all."""


@dataclass(frozen=True)
class Reading:
    """One request."""

    request: ModelRequest
    sections: dict[str, str] = field(init=False, default_factory=dict)

    @property
    def user(self) -> str:
        """The prompt."""
        return self.request.messages[0].content

    def section(self, marker: str) -> str:
        """What stands between a marker's ends; empty where there is no such section."""
        if marker not in self.sections:
            match = re.search(rf"<{marker}\b[^>]*>(.*?)</{marker}>", self.user, re.DOTALL)
            self.sections[marker] = match[1].strip() if match else ""
        return self.sections[marker]

    def rows(self, marker: str) -> list[dict[str, Any]]:
        """A section that is a JSON list."""
        return list(json.loads(self.section(marker) or "[]"))

    @cached_property
    def budget(self) -> int | None:
        """The edit budget shown; None: unlimited."""
        match = re.search(r"\d+", self.section("edit_budget"))
        return int(match[0]) if match else None

    @cached_property
    def skill(self) -> str:
        """The current skill."""
        return self.section("current_skill")

    @cached_property
    def known(self) -> frozenset[str]:
        """The rules in force in the skill."""
        return in_force(self.skill)

    @cached_property
    def rejected(self) -> dict[str, tuple[Tried, ...]]:
        """The rules in edits shown as tried and rejected, and what is shown of each time."""
        found: dict[str, tuple[Tried, ...]] = {}
        for step in re.split(r"^Step ", self.section("earlier_steps"), flags=re.MULTILINE):
            edits = [said(line) for line in step.splitlines() if line.startswith('{"op"')]
            for rule in {rule for rules in edits for rule in rules}:
                found[rule] = (*found.get(rule, ()), _tried(step, rule, edits))
        return found

    @cached_property
    def records(self) -> dict[str, float]:
        """What the optimizer's own memory says a rule of each style is worth, in score; few trials count little."""
        found = records(self.section("optimizer_memory"))
        return {style: tried * points / 100 / (tried + _PRIOR) for style, (tried, points) in found.items()}

    @cached_property
    def attempts(self) -> tuple[Seen, ...]:
        """The attempts shown."""
        return seen(self.user)

    @cached_property
    def causes(self) -> Counter[str]:
        """The causes that show in failures."""
        return Counter(attempt.cause for attempt in self.attempts if attempt.failed and attempt.cause)


def _tried(step: str, rule: str, edits: Sequence[Sequence[str]]) -> Tried:
    """What a rejected step shows of one rule in it: the figures of its own area where there are some, else of all."""
    figures = _FIGURES.search(step)
    of, gain = (int(figures[1] or 1), float(figures[3]) - float(figures[2])) if figures else (1, 0.0)
    area = rule.partition("-")[0]
    for name, tasks, before, after in _GROUP.findall(step):
        if name == area:
            own = sum(any(other.startswith(f"{area}-") for other in rules) for rules in edits)
            return Tried(own, float(after) - float(before), int(tasks), of)
    return Tried(len(edits), gain, of, of)


def seen(text: str) -> tuple[Seen, ...]:
    """The attempts in a text."""
    found = ((dict(_ATTRIBUTE.findall(head)), body) for head, body in _ATTEMPT.findall(text))
    return tuple(
        Seen(
            task=head["task"],
            failed=head["verdict"] != "solved",
            area=_first(_AREA, body),
            cause=_first(_CAUSE, body),
            misled_by=_first(_MISLED, body),
            group=head.get("group", ""),
            under=head.get("skill", ""),
        )
        for head, body in found
    )


def records(text: str) -> dict[str, tuple[int, float]]:
    """Notes on styles of rules: how many were tried, and the points that each came to."""
    return {style: (int(tried), float(points)) for style, tried, points in _RECORD.findall(text)}


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""
