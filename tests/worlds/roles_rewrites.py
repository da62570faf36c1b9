"""The roles of the rewriting modes: suggestions and what is written from them, whole bodies, their correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skills_repo.guarded import MARK
from tests.worlds.lore import said
from tests.worlds.mind import Mind, line_of
from tests.worlds.roles_edits import patterns, united

Row = dict[str, Any]

DROPS = 0.03
"""Share of the rules that a whole rewrite forgets by mistake."""


def suggest_failures(mind: Mind) -> Row:
    """As patches are, in words."""
    budget = mind.reading.budget
    rows = [_suggestion("remove_rule", line_of(mind.reading.skill, rule), []) for rule in mind.blamed()]
    room = None if budget is None else max(0, budget - len(rows))
    rows += [_suggestion("add_rule", rule.line, mind.evidence(rule)) for rule in mind.wanted(room)]
    return {"patterns": patterns(mind), "reasoning": "r", "suggestions": rows[:budget]}


def suggest_successes(mind: Mind) -> Row:
    """Now and then a rule for what went well anyway."""
    rows = [_suggestion("add_rule", rule.line, mind.evidence(rule)) for rule in mind.praise()]
    return {"patterns": [], "reasoning": "r", "suggestions": rows[: mind.reading.budget]}


def merge_suggestions(mind: Mind) -> Row:
    """Equal ones become one."""
    return {"reasoning": "r", "suggestions": united(mind, "edits", "instruction")}


def rewrite(mind: Mind) -> Row:
    """The body with the suggestions carried out."""
    rows = mind.reading.rows("chosen_suggestions")
    out = {rule for row in rows if row["type"] == "remove_rule" for rule in said(row["instruction"])}
    new = [row["instruction"] for row in rows if row["type"] == "add_rule"]
    return {"reasoning": "r", "summary": "s", "body": _body(mind, out, new)}


def rewrite_failures(mind: Mind) -> Row:
    """The body with the rules that failures ask for."""
    rules = mind.wanted(None)
    body = _body(mind, set(mind.blamed()), [rule.line for rule in rules]) if rules or mind.blamed() else ""
    evidence = sorted({task for rule in rules for task in mind.evidence(rule)})
    return {"patterns": patterns(mind), "reasoning": "r", "summary": "s", "body": body, "evidence": evidence}


def rewrite_successes(mind: Mind) -> Row:
    """Mostly nothing."""
    rules = mind.praise()
    body = _body(mind, set(), [rule.line for rule in rules]) if rules else ""
    return {"patterns": [], "reasoning": "r", "summary": "s", "body": body, "evidence": []}


def merge_rewrites(mind: Mind) -> Row:
    """Every line of every body, once."""
    bodies = [row["body"] for patch in mind.reading.rows("patches") for row in patch["edits"]]
    lines = dict.fromkeys(line for body in bodies for line in body.splitlines())
    return {"reasoning": "r", "summary": "s", "body": "\n".join(lines) + "\n", "evidence": []}


def repair_body(mind: Mind) -> Row:
    """Nothing it could think of."""
    return {"reasoning": "r", "body": ""}


def _suggestion(kind: str, instruction: str, evidence: Sequence[str]) -> Row:
    words = {"title": kind.replace("_", " "), "motivation": "seen"}
    return {"type": kind, "instruction": instruction, "evidence": list(evidence), **words}


def _body(mind: Mind, out: set[str], new: Sequence[str]) -> str:
    """The skill's own body without some rules and with some more."""
    body = mind.reading.skill.split("---", 2)[-1].split(f"<!-- {MARK}")[0]
    kept = [
        line
        for line in body.strip().splitlines()
        if not out & set(said(line)) and (not said(line) or mind.rng.random() >= DROPS)
    ]
    return "\n".join([*kept, *new]) + "\n"
