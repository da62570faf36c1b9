"""The learning curve out of commits alone: runs, their accepted steps with the gate's figures, and what was taken back.

Pure: what `SkillHistory.log` gives goes in, newest first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skills_repo.figures import parse_gate
from skills_repo.history import SkillCommit
from skills_repo.message import GateFigures, place_of

_BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class Point:
    """One accepted decision of a run: a step, an epoch's slow update, or the skill that the run was given."""

    run: str
    step: int
    phase: str
    """One of `message.PHASES`."""
    commits: tuple[SkillCommit, ...]
    """Oldest first."""
    figures: GateFigures | None
    """None: the trailers tell none."""

    @property
    def when(self) -> float:
        """Unix time of the decision."""
        return self.commits[0].when


@dataclass(frozen=True)
class RunCurve:
    """One run's accepted decisions, oldest first."""

    run: str
    points: tuple[Point, ...]

    @property
    def scores(self) -> tuple[float, ...]:
        """The score before the first measured decision, then the one after each; empty where nothing was measured."""
        pairs = [(p.figures.before, p.figures.after) for p in self.points if p.figures is not None]
        measured = [(before, after) for before, after in pairs if before is not None and after is not None]
        return (measured[0][0], *(after for _, after in measured)) if measured else ()


def curves(commits: Sequence[SkillCommit]) -> tuple[RunCurve, ...]:
    """Runs, oldest first. A commit that stands twice (it was picked onto another line) counts once."""
    places: dict[tuple[str, int, str], dict[str, SkillCommit]] = {}
    for commit in reversed(commits):
        place = place_of(commit.trailers)
        if place is not None:
            places.setdefault(place, {}).setdefault(commit.trailers["Honed-Step"], commit)
    runs: dict[str, list[Point]] = {}
    for (run, step, phase), found in places.items():
        mine = tuple(found.values())
        runs.setdefault(run, []).append(
            Point(run, step, phase, mine, parse_gate(mine[-1].trailers.get("Honed-Gate", "")))
        )
    return tuple(RunCurve(run, tuple(points)) for run, points in runs.items())


def taken_back(commits: Sequence[SkillCommit]) -> Mapping[str, SkillCommit]:
    """By commit id: the revert that took it back, where that revert was not taken back itself."""
    found: dict[str, SkillCommit] = {}
    for commit in commits:  # whoever took a revert back came later: it is known by now
        if commit.reverts is not None and commit.sha not in found:
            found.setdefault(commit.reverts, commit)
    return found


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """One bar a value between their lowest and highest; of more than `width` values the last of each stretch."""
    if len(values) > width:
        values = [values[(at + 1) * len(values) // width - 1] for at in range(width)]
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _BARS[len(_BARS) // 2] * len(values)
    return "".join(_BARS[round((value - low) / (high - low) * (len(_BARS) - 1))] for value in values)
