"""The table: attack, expected, observed; as Markdown for people and the docs, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.hostile.attack import Area
from tests.hostile.trial import Tried, Verdict

BEGIN = "<!-- attacks: written by `make test-hostile` -->"
END = "<!-- attacks: end -->"


def markdown(tried: Sequence[Tried], *, when: str, engine: str) -> str:
    """The table with its heading lines, an area after the other."""
    lines = [f"{summary(tried)}, on {when}, {engine}.", ""]
    for area in Area:
        rows = [one for one in tried if one.attack.area is area]
        if rows:
            lines += [f"### {area.value.capitalize()}", "", "| attack | expected | observed | |", "|---|---|---|---|"]
            lines += [_row(one) for one in rows]
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def as_json(tried: Sequence[Tried], *, when: str, engine: str) -> str:
    """One JSON object."""
    rows = [
        {
            "area": one.attack.area.value,
            "name": one.attack.name,
            "attack": one.attack.attack,
            "expected": one.attack.expected,
            "observed": one.observed,
            "verdict": one.verdict.value,
            "wall_s": round(one.wall_s, 3),
        }
        for one in tried
    ]
    return json.dumps({"date": when, "engine": engine, "attacks": rows}, ensure_ascii=False)


def summary(tried: Sequence[Tried]) -> str:
    """How many were tried and held."""
    count = {verdict: sum(one.verdict is verdict for one in tried) for verdict in Verdict}
    told = f"{len(tried)} attacks: {count[Verdict.HELD]} held, {count[Verdict.BROKEN]} broken"
    return told + (f", {count[Verdict.UNTRIED]} not tried" if count[Verdict.UNTRIED] else "")


def into_page(page: str, written: str) -> str:
    """The page with what stands between its two marks replaced. Raises `ValueError` where a mark is missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{written}{END}{after}"


def _row(one: Tried) -> str:
    cells = (one.attack.attack, one.attack.expected, one.observed, one.verdict.value)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    shown = text if len(text) <= 160 else text[:157] + "…"
    return shown.replace("|", "\\|").replace("<", "&lt;")
