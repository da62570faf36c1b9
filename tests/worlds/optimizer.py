"""The simulated optimizer model: every role is answered from the prompt alone, with seeded noise.

The noise is drawn from the prompt, so the same prompt gets the same reply in any order and after any restart. It
never sees the configuration: a mechanism helps only by what it puts into a prompt or does with a reply.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from harnesses.models.client import ModelReply, ModelRequest
from sandboxes.gateway.policy import Usage
from tests.worlds.lore import Lore, said
from tests.worlds.mind import Habits, Mind, deletions, edit_rows
from tests.worlds.reading import Reading

Row = dict[str, Any]


@dataclass
class SimulatedOptimizer:
    """A `ModelClient` that knows the lore of a world, not its truth."""

    lore: Lore
    seed: int = 0
    habits: Habits = field(default_factory=Habits)
    chaos: random.Random | None = None
    """Where given, replies come in random order."""
    provider: str = "fakeprovider"
    model: str = "world-optimizer"
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by role."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply."""
        for _ in range(self.chaos.randrange(8) if self.chaos else 1):
            await asyncio.sleep(0)
        role = request.schema_name
        self.asked[role] += 1
        shown = json.dumps([asdict(message) for message in request.messages])
        digest = hashlib.blake2b(f"{self.seed}/{role}/{shown}".encode(), digest_size=8).hexdigest()
        mind = Mind(self.lore, self.habits, Reading(request), random.Random(digest))
        text = "I would rather not." if mind.rng.random() < self.habits.garbage else json.dumps(ROLES[role](mind))
        return ModelReply(text, Usage(1, len(shown) // 4, 0, len(text) // 4, 0.01), "end", self.model)

    async def close(self) -> None:
        """Nothing to close."""


def reflect_failures(mind: Mind) -> Row:
    """Rules for the causes that show, most frequent first; then guesses; rules that led astray are deleted."""
    reading = mind.reading
    shown = [cause for cause, _ in sorted(reading.causes.items(), key=lambda row: (-row[1], row[0]))]
    edits = deletions(mind)
    room = None if reading.budget is None else max(0, reading.budget - len(edits))
    edits += edit_rows(mind, mind.pick(dict.fromkeys([*shown, *mind.guessed()]), room))
    patterns = [
        {"type": cause, "count": count, "description": f"work goes wrong at {cause}"}
        for cause, count in sorted(reading.causes.items())
    ]
    return {"patterns": patterns, "reasoning": "r", "edits": edits[: reading.budget]}


def reflect_successes(mind: Mind) -> Row:
    """Now and then a rule for what went well anyway."""
    return {"patterns": [], "reasoning": "r", "edits": edit_rows(mind, mind.praise())[: mind.reading.budget]}


def merge(mind: Mind) -> Row:
    """Equal edits become one; of several rules for one cause, the better looking stays, as often as not both."""
    rows: dict[tuple[str, str, str], Row] = {}
    for row in (row for patch in mind.reading.rows("patches") for row in patch["edits"]):
        known = rows.setdefault((row["op"], row["target"], row["content"]), {**row, "support": 0})
        known["support"] += row["support"]
        known["evidence"] = sorted({*known["evidence"], *row["evidence"]})
    ordered = sorted(rows.values(), key=lambda row: (-row["support"], -_worth(mind, row), row["content"]))
    return {"reasoning": "r", "edits": ordered}


def rank(mind: Mind) -> Row:
    """By worth and support, different causes first."""
    rows = mind.reading.rows("edits")
    scored = sorted(rows, key=lambda row: -(_worth(mind, row) + 0.1 * row["support"]))
    first: dict[str, Row] = {}
    for row in scored:
        first.setdefault(_cause(mind, row), row)
    ordered = [*first.values(), *(row for row in scored if row not in first.values())]
    return {"reasoning": "r", "selected": [row["index"] for row in ordered][: mind.reading.budget]}


def _worth(mind: Mind, row: Row) -> float:
    rules = [rule for rule_id in said(row["content"]) if (rule := mind.lore.rule(rule_id))]
    return max(map(mind.judge, rules), default=0.5)


def _cause(mind: Mind, row: Row) -> str:
    rules = [rule for rule_id in said(row["content"]) if (rule := mind.lore.rule(rule_id))]
    return rules[0].cause if rules else row["target"]


ROLES = {
    "reflect_failures": reflect_failures,
    "reflect_successes": reflect_successes,
    "merge": merge,
    "rank": rank,
}
