"""Bits that the views of runs and steps share: every text from models and tasks is neutralised here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from daemon.plain import plain
from skills_repo.skill import SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from daemon.readback.costs import Cost
    from sandboxes.gateway.policy import Usage
    from skills_repo.edits import Edit

STYLES = {"accepted": "green", "applied": "green", "rejected": "red"}


def safe(text: object, style: str = "", width: int = 0) -> Text:
    """Untrusted text as one line: never markup, no control codes, cut to `width` characters where that is given."""
    line = plain(" ".join(str(text).split()))
    return Text(line if not width or len(line) <= width else line[: width - 1] + "…", style=style)


def heading(console: Console, text: str) -> None:
    """The title of a part."""
    console.print()
    console.print(Text(plain(text), style="bold cyan"))


def grid(*columns: str) -> Table:
    """A plain table."""
    return Table(*columns, box=None, pad_edge=False)


def figure(value: float | None) -> str:
    """A score."""
    return "-" if value is None else f"{value:.3f}"


def change(before: float | None, after: float | None) -> str:
    """Two scores."""
    return "-" if before is None and after is None else f"{figure(before)} -> {figure(after)}"


def budget_text(budget: int | None) -> str:
    """How many edits a step might make."""
    return "unbounded" if budget is None else str(budget)


def money(usage: Usage) -> str:
    """What it cost, or that nobody knows."""
    return "price unknown" if usage.usd is None else f"${usage.usd:,.4f}"


def edit_text(edit: Edit, width: int = 0) -> Text:
    """An edit in one line; with a `width`, its content and target have at most so many characters each."""
    target = f" @ {safe(edit.target, width=width)}" if edit.target else ""
    evidence = (
        f" (support {edit.support}: {', '.join(edit.evidence)})" if edit.evidence else f" (support {edit.support})"
    )
    where = f" in {edit.file}" if edit.file != SKILL_FILE else ""
    link = f" (link: {edit.link})" if edit.link else ""
    return safe(f"{edit.op}{where}{target}: {safe(edit.content, width=width)}{link}{evidence}")


def cost_table(costs: Iterable[Cost]) -> Table:
    """One row a phase."""
    table = grid("phase", "attempts", "invalid", "requests", "tokens", "money")
    for cost in costs:
        usage = cost.usage
        cells = (str(cost.attempts), str(cost.invalid), f"{usage.requests:,}", f"{usage.tokens:,}", money(usage))
        table.add_row(safe(cost.phase), *cells)
    return table
