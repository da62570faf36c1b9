"""Bits that the views of the skill's history share. Commits are anybody's text: everything is neutralised here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from daemon.cli.output import plain
from skills_repo.figures import parse_gate

if TYPE_CHECKING:
    from skills_repo.history import SkillCommit

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


def short(commit: SkillCommit) -> str:
    """Id and subject."""
    return f"{commit.sha[:10]} {commit.subject}"


def say_commit(commit: SkillCommit) -> Text:
    """Id, kind and subject with their colours."""
    style = {"edit": "green", "revert": "yellow"}.get(commit.kind, "dim")
    return Text.assemble((commit.sha[:10], "yellow"), " ", (commit.kind, style), " ", one_line(commit.subject))
