"""The roles that look over an epoch: guidance for the guarded region, and the optimizer's notes to itself.

Only here can the model see what single attempts do not show: areas that fail time and again without a visible cause,
and rules that came in while their area got worse.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.worlds.lore import disregard, in_force, said
from tests.worlds.mind import Mind
from tests.worlds.reading import records

Row = dict[str, Any]

AGAIN = 2
"""Tasks of one area that fail under both skills, or that got worse, before it believes that there is a reason."""
MOST_LINES = 12


def slow_update(mind: Mind) -> Row:
    """Keep the guidance that is not blamed; take new rules out of force where their area got worse; add deep rules."""
    reading = mind.reading
    present = reading.section("present_guidance")
    worse, stuck = _areas(mind, "regressed"), _areas(mind, "persistent_failure")
    better = _areas(mind, "improved")
    suspects = [
        rule
        for area, count in worse.items()
        if count >= AGAIN and count > better[area]
        for rule in _newcomers(mind, area)[:1]
    ]
    suspects += [rule for rule in mind.blamed() if rule not in suspects]
    lines = [line for line in present.splitlines() if line.strip() and not set(said(line)) & set(suspects)]
    lines += disregard(rule for rule in sorted(set(suspects)) if rule not in said(present))
    lines += _deep_rules(mind, stuck)
    return {"reasoning": "r", "guidance": "\n".join(dict.fromkeys(lines[:MOST_LINES]))}


def meta_skill(mind: Mind) -> Row:
    """The record of each style of rule over all epochs so far: a step's gain or loss is shared among its edits."""
    present = records(mind.reading.section("present_notes"))
    tried = Counter({style: count for style, (count, _) in present.items()})
    points = {style: count * each for style, (count, each) in present.items()}
    for row in map(json.loads, mind.reading.section("epoch").splitlines()):
        for style in _styles(mind, row["edits"]) if "after" in row else ():
            tried[style] += 1
            points[style] = points.get(style, 0.0) + 100 * (row["after"] - row["before"]) / len(row["edits"])
    lines = [
        f"{style} rules: {count} tried, {points[style] / count:+.2f} points each" for style, count in tried.items()
    ]
    return {"reasoning": "r", "notes": "\n".join(sorted(lines))}


def _styles(mind: Mind, edits: list[Row]) -> list[str]:
    rules = (mind.lore.rule(rule_id) for edit in edits for rule_id in said(edit["content"]))
    return [rule.style for rule in rules if rule]


def _areas(mind: Mind, group: str) -> Counter[str]:
    """How many tasks of a group each area has; of failures, those whose cause does not show now."""
    now = [a for a in mind.reading.attempts if a.group == group and a.under == "now"]
    return Counter(a.area for a in now if group == "improved" or not a.cause)


def _newcomers(mind: Mind, area: str) -> list[str]:
    """Rules of an area that came into force during the epoch, the least convincing first."""
    earlier = mind.reading.section("skill_an_epoch_ago")
    before = mind.reading.known if earlier == "The same." else in_force(earlier)
    rules = [mind.lore.rule(rule_id) for rule_id in sorted(mind.reading.known - before)]
    ours = [rule for rule in rules if rule and rule.area == area]
    return [rule.id for rule in sorted(ours, key=mind.judge)]


def _deep_rules(mind: Mind, stuck: Counter[str]) -> list[str]:
    """For each area that is stuck for no visible reason, the best looking rule for its deep cause."""
    causes = [cause for area, n in sorted(stuck.items()) if n >= AGAIN for cause in mind.lore.deep_causes(area)]
    found = (mind.candidates(cause, said(mind.reading.section("present_guidance"))) for cause in causes)
    return [rules[0].line for rules in found if rules]
