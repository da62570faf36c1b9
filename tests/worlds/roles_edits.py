"""The roles of patch mode: reflection, merge, rank, and correcting an edit that missed."""

from __future__ import annotations

from typing import Any

from tests.worlds.lore import Rule, said
from tests.worlds.mind import Mind, line_of

Row = dict[str, Any]


def reflect_failures(mind: Mind) -> Row:
    """Rules for the causes that show, most frequent first; then guesses; rules that led astray are deleted."""
    budget = mind.reading.budget
    edits = deletions(mind)
    edits += edit_rows(mind, mind.wanted(None if budget is None else max(0, budget - len(edits))))
    return {"patterns": patterns(mind), "reasoning": "r", "edits": edits[:budget]}


def reflect_successes(mind: Mind) -> Row:
    """Now and then a rule for what went well anyway."""
    return {"patterns": [], "reasoning": "r", "edits": edit_rows(mind, mind.praise())[: mind.reading.budget]}


def merge(mind: Mind) -> Row:
    """Equal edits become one; those with most support come first, then those that look best."""
    return {"reasoning": "r", "edits": united(mind, "edits", "content")}


def rank(mind: Mind) -> Row:
    """By worth and support, different causes first."""
    rows = mind.reading.rows("edits")
    scored = sorted(rows, key=lambda row: -(worth(mind, row) + 0.1 * row["support"]))
    first: dict[str, Row] = {}
    for row in scored:
        first.setdefault(_aim(mind, row), row)
    ordered = [*first.values(), *(row for row in scored if row not in first.values())]
    return {"reasoning": "r", "selected": [row["index"] for row in ordered][: mind.reading.budget]}


def learning_rate(mind: Mind) -> Row:
    """As many as look better than even."""
    good = sum(worth(mind, row) > 0.5 for row in mind.reading.rows("edits"))
    return {"learning_rate": max(1, good), "reasoning": "r", "confidence": 0.5, "risk_notes": ""}


def repair(mind: Mind) -> Row:
    """What has no place goes to the end; what is to be deleted and is not there is left out."""
    rows = [(index, row) for index, row in enumerate(mind.reading.rows("edits")) if row.get("status") != "applied"]
    edits = [
        {"index": row.get("index", index), "op": "append", "target": "", "content": row["content"]}
        for index, row in rows
        if row["content"]
    ]
    return {"reasoning": "r", "edits": edits}


def patterns(mind: Mind) -> list[Row]:
    """The failures by cause."""
    rows = sorted(mind.reading.causes.items())
    return [{"type": cause, "count": n, "description": f"work goes wrong at {cause}"} for cause, n in rows]


def edit_rows(mind: Mind, rules: list[Rule]) -> list[Row]:
    """Rules as edits: appended, now and then below an anchor that is not there."""
    rows: list[Row] = []
    for rule in rules:
        lost = mind.rng.random() < mind.habits.misquotes
        op, target = ("insert_after", "a line that nobody wrote") if lost else ("append", "")
        evidence = mind.evidence(rule)
        rows.append({"op": op, "target": target, "content": rule.line, "rationale": "seen", "evidence": evidence})
    return rows


def deletions(mind: Mind) -> list[Row]:
    """Delete the rules that attempts say they were led astray by."""
    lines = [line for rule in mind.blamed() if (line := line_of(mind.reading.skill, rule))]
    return [{"op": "delete", "target": t, "content": "", "rationale": "misleads", "evidence": []} for t in lines]


def united(mind: Mind, name: str, text: str) -> list[Row]:
    """The rows of all patches, equal ones once."""
    rows: dict[tuple[str, ...], Row] = {}
    for row in (row for patch in mind.reading.rows("patches") for row in patch[name]):
        key = (row.get("op", row.get("type", "")), row.get("target", ""), row[text])
        known = rows.setdefault(key, {**row, "support": 0})
        known["support"] += row["support"]
        known["evidence"] = sorted({*known["evidence"], *row["evidence"]})
    return sorted(rows.values(), key=lambda row: (-row["support"], -worth(mind, row), row[text]))


def worth(mind: Mind, row: Row) -> float:
    """How good an edit or a suggestion looks."""
    return max(map(mind.judge, _rules(mind, row)), default=0.5)


def _aim(mind: Mind, row: Row) -> str:
    rules = _rules(mind, row)
    return rules[0].cause if rules else str(row.get("target", ""))


def _rules(mind: Mind, row: Row) -> list[Rule]:
    text = row.get("content") or row.get("instruction") or ""
    return [rule for rule_id in said(text) if (rule := mind.lore.rule(rule_id))]
