"""Bits that the views of the skill's history share. Commits are anybody's text: everything is neutralised here."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from daemon.plain import plain
from skills_repo.figures import parse_gate

if TYPE_CHECKING:
    from skills_repo.history import SkillCommit
    from skills_repo.message import GateFigures

_PHASES = {"slow_update": "slow update", "initial": "the given start"}


def one_line(text: str, width: int = 0) -> str:
    """Untrusted text as one plain line, cut to `width` characters where that is given."""
    line = plain(" ".join(text.split()))
    return line if not width or len(line) <= width else line[: width - 1] + "…"


def lines_of(text: str) -> list[str]:
    """Untrusted text line by line."""
    return [plain(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def phase_name(phase: str) -> str:
    """What people call a phase."""
    return _PHASES.get(phase, one_line(phase, width=40))


def scores_text(gate: str) -> str:
    """The gate's trailer as it stands; in words where nothing was measured."""
    figures = parse_gate(gate)
    if figures is None or figures.before is not None:
        return gate
    return "given, not measured" if figures.rule == "given" else f"{gate} (not measured)"


def trailer_rows(commit: SkillCommit) -> list[tuple[str, str]]:
    """What an edit's trailers say: name and text of each line; empty for people's commits."""
    trailers = commit.trailers
    found = []
    if "Honed-Step" in trailers:
        phase = f", {phase_name(trailers['Honed-Phase'])}" if "Honed-Phase" in trailers else ""
        found.append(("step", f"{trailers['Honed-Step']} of run {trailers.get('Honed-Run', 'unknown')}{phase}"))
    if "Honed-File" in trailers:
        found.append(("file", trailers["Honed-File"]))
    if "Honed-Gate" in trailers:
        found.append(("gate", scores_text(trailers["Honed-Gate"])))
    found += [(n.lower(), trailers[f"Honed-{n}"]) for n in ("Evidence", "Target", "Cost") if f"Honed-{n}" in trailers]
    return found


def commit_data(commit: SkillCommit) -> dict[str, Any]:
    """A commit as data."""
    return {
        "sha": commit.sha,
        "kind": commit.kind,
        "subject": commit.subject,
        "author": commit.author,
        "when": commit.when,
        "trailers": dict(commit.trailers),
        "reverts": commit.reverts,
        "reason": commit.reason,
    }


def figures_data(figures: GateFigures | None) -> dict[str, Any] | None:
    """The gate's figures as data."""
    return None if figures is None else {**asdict(figures), "delta": delta_of(figures)}


def delta_of(figures: GateFigures) -> float | None:
    """After less before, where both were measured."""
    if figures.before is None or figures.after is None:
        return None
    return round(figures.after - figures.before, 9)


def day(when: float) -> str:
    """A date for people, in UTC; git keeps any number of seconds, and what no calendar has stays one."""
    try:
        return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"{when:.0f} s after 1970"


def short(commit: SkillCommit) -> str:
    """Id and subject."""
    return f"{commit.sha[:10]} {commit.subject}"


def say_commit(commit: SkillCommit) -> Text:
    """Id, kind and subject with their colours."""
    style = {"edit": "green", "revert": "yellow"}.get(commit.kind, "dim")
    return Text.assemble((commit.sha[:10], "yellow"), " ", (commit.kind, style), " ", one_line(commit.subject))
