"""What a gate found, for people: the table by task and every look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.cli.show_parts import change, figure, grid, heading, safe
from daemon.optimizer.gates.evidence import p_words

if TYPE_CHECKING:
    from rich.console import Console

    from daemon.optimizer.gates.verdict import Look, Verdict


def render_verdict(console: Console, verdict: Verdict | None) -> None:
    """Nothing where it did not come to a gate."""
    if verdict is None:
        return
    heading(console, f"gate: {verdict.ruling} {change(verdict.before, verdict.after)}")
    console.print(safe(verdict.rule))
    if verdict.rows:
        _table(console, verdict)
    else:
        for name, ids in (("fixed", verdict.fixed), ("broken", verdict.broken)):
            if ids:
                console.print(safe(f"{name}: {', '.join(ids)}"))
    for number, look in enumerate(verdict.looks, start=1):
        console.print(safe(f"look {number}: {_look(look)}"))


def _table(console: Console, verdict: Verdict) -> None:
    table = grid("task", "before", "trials", "after", "trials", "")
    for row in verdict.rows:
        marks = [
            name
            for name, holds in (
                ("fixed", row.id in verdict.fixed),
                ("broken", row.id in verdict.broken),
                ("protected", row.protect),
            )
            if holds
        ]
        before, after = figure(row.before), figure(row.after)
        table.add_row(safe(row.id), before, str(row.before_trials), after, str(row.after_trials), ", ".join(marks))
    console.print(table)


def _look(look: Look) -> str:
    evidence = "" if look.evidence is None else f", {p_words(look.evidence)}"
    return f"{look.attempts} attempts, {change(look.before, look.after)}{evidence}: {look.reason}"
