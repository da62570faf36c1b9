"""Hundreds of malformed replies for every role of every update mode, through the real parsing, merging and applying.

None crashes, none gets through a guard, and each is told about: in the notes, or in the apply report with its reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

from daemon.optimizer.replies import (
    LearningRateReply,
    MergeReply,
    MergeRewritesReply,
    MergeSuggestionsReply,
    RankReply,
    ReflectReply,
    ReflectRewriteReply,
    RepairBodyReply,
    RepairReply,
    RewriteReply,
    SuggestReply,
)
from daemon.optimizer.updates.modes import MODES
from harnesses.models.client import ChatMessage, ModelRequest
from harnesses.models.structured import BadReply, ask
from skills_repo import frontmatter, guarded
from skills_repo.edits import EditLimits, EditStatus
from skills_repo.skill import Skill
from skills_repo.validate import validate
from tests.support.hostile import BODIES, CRLF, EDITS, GOOD, ODD, SKILL, UNREADABLE
from tests.support.optimizer import Replier, ScriptedOptimizer, sensible
from tests.support.updates import Driven, drive

ROLES = {
    "patch": ["reflect_failures", "reflect_successes", "merge", "learning_rate", "rank", "repair"],
    "suggestions": [
        "suggest_failures",
        "suggest_successes",
        "merge_suggestions",
        "learning_rate",
        "rank",
        "rewrite",
        "repair_body",
    ],
    "rewrite": ["rewrite_failures", "rewrite_successes", "merge_rewrites", "repair_body"],
}
CASES = [(mode, role) for mode, roles in ROLES.items() for role in roles]
SCHEMAS: Mapping[str, type[BaseModel]] = {
    "reflect_failures": ReflectReply,
    "reflect_successes": ReflectReply,
    "merge": MergeReply,
    "learning_rate": LearningRateReply,
    "rank": RankReply,
    "repair": RepairReply,
    "suggest_failures": SuggestReply,
    "suggest_successes": SuggestReply,
    "merge_suggestions": MergeSuggestionsReply,
    "rewrite": RewriteReply,
    "repair_body": RepairBodyReply,
    "rewrite_failures": ReflectRewriteReply,
    "rewrite_successes": ReflectRewriteReply,
    "merge_rewrites": MergeRewritesReply,
}
CAP = EditLimits(None).max_skill_chars


def sample(texts: Mapping[str, str], most: int) -> list[tuple[str, str]]:
    """Some of them, evenly: a whole update is driven for each."""
    rows = list(texts.items())
    return rows[:: max(1, len(rows) // most)]


def honest_but(role: str, text: str) -> Replier:
    def reply(request: ModelRequest) -> Any:
        return text if request.schema_name == role else GOOD[request.schema_name]

    return reply


def check(driven: Driven, skill: Skill) -> None:
    """What must hold whatever was answered."""
    before, after = skill.text, driven.applied.result.text
    validate(driven.applied.result)
    assert frontmatter.split(after).head == frontmatter.split(before).head
    assert _region(after) == _region(before)
    assert len(after) <= CAP
    assert "look at the sheet" in after
    rows = driven.applied.report.rows
    assert [row.edit for row in rows] == list(driven.mended.edits)
    assert all(row.status.explanation for row in rows)
    assert rows or driven.proposal.reason or driven.found.errors or not driven.found.patches


def _region(text: str) -> str:
    region = guarded.find(text)
    assert region is not None
    return text[region.start : region.end]


def test_the_corpus_is_large_and_every_role_is_in_it() -> None:
    assert sum(map(len, UNREADABLE.values())) + sum(map(len, ODD.values())) + len(EDITS) + len(BODIES) > 2_000
    assert min(len(set(texts.values())) for texts in UNREADABLE.values()) > 90
    assert {role for _, role in CASES} == set(GOOD) == set(UNREADABLE) == set(SCHEMAS)
    assert sum(len(sample(UNREADABLE[role], 14)) + len(sample(ODD[role], 12)) for _, role in CASES) > 400


@pytest.mark.parametrize("mode", MODES)
async def test_an_honest_optimizer_is_asked_in_every_role_and_changes_the_skill(mode: str) -> None:
    driven = await drive(MODES[mode], lambda request: GOOD[request.schema_name], SKILL, budget=2)
    assert {request.schema_name for request in driven.client.requests} == set(ROLES[mode])
    assert {"rule-new", "- rule 99"} & set(re.findall(r"rule-new|- rule 99", driven.applied.result.text))
    assert all(row.status is EditStatus.APPLIED for row in driven.applied.report.rows)
    check(driven, SKILL)


@pytest.mark.parametrize("role", GOOD)
async def test_an_unreadable_reply_is_no_reply(role: str) -> None:
    schema = SCHEMAS[role]
    for name, text in UNREADABLE[role].items():
        client = ScriptedOptimizer(lambda request, text=text: text)  # type: ignore[misc]
        with pytest.raises(BadReply, match=f"no usable {role} reply twice"):
            await ask(client, ModelRequest("s", (ChatMessage("user", "u"),), schema_name=role), schema)
        assert len(client.requests) == 2, name


@pytest.mark.parametrize(("mode", "role"), CASES)
async def test_an_unreadable_reply_is_dropped_aloud(mode: str, role: str) -> None:
    for name, text in sample(UNREADABLE[role], 14):
        driven = await drive(MODES[mode], honest_but(role, text), SKILL, budget=2)
        check(driven, SKILL)
        asked = driven.client.asked(role)
        assert asked, f"{role} was never asked"
        said = [note for note in driven.notes if f"no usable {role} reply twice" in note]
        assert said, f"{name}: {driven.notes}"
        assert len(asked) % 2 == 0, name


@pytest.mark.parametrize(("mode", "role"), CASES)
async def test_an_odd_reply_gets_through_no_guard(mode: str, role: str) -> None:
    for name, text in sample(ODD[role], 12):
        driven = await drive(MODES[mode], honest_but(role, text), SKILL, budget=2)
        check(driven, SKILL)
        assert len(driven.applied.report.rows) <= 2, name


@pytest.mark.parametrize("skill", [SKILL, CRLF], ids=["lf", "crlf"])
@pytest.mark.parametrize("name", EDITS)
async def test_a_harmful_edit_of_reflection_is_in_the_report_with_its_reason(name: str, skill: Skill) -> None:
    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "reflect_failures":
            return {"patterns": [], "reasoning": "r", "edits": [EDITS[name], {**EDITS["no change"], "rationale": "2"}]}
        if request.schema_name == "repair":
            return {"reasoning": "r", "edits": []}
        return sensible(request)

    driven = await drive(MODES["patch"], reply, skill)
    check(driven, skill)
    assert driven.applied.result == skill
    assert driven.applied.report.applied == ()
    told = [row.edit.content == EDITS[name]["content"] and row.reason for row in driven.applied.report.rows]
    assert any(told) or any("dropped" in note for note in driven.notes)


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("role", ["merge", "repair"])
async def test_a_harmful_edit_of_a_later_role_fares_no_better(role: str, name: str) -> None:
    row = EDITS[name]
    if role == "merge":
        text = json.dumps({"reasoning": "r", "edits": [{**row, "support": 9}]})
    else:
        placed = {key: row[key] for key in ("op", "target", "content")}
        text = json.dumps({"reasoning": "r", "edits": [{"index": at, **placed} for at in range(3)]})
    driven = await drive(MODES["patch"], honest_but(role, text), SKILL)
    check(driven, SKILL)
    statuses = {row.edit.content: row.status for row in driven.applied.report.rows}
    assert statuses.get(row["content"], EditStatus.MALFORMED) is not EditStatus.APPLIED


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(
    ("mode", "role"), [("suggestions", "rewrite"), ("rewrite", "merge_rewrites"), ("rewrite", "repair_body")]
)
async def test_a_harmful_body_is_in_the_report_with_its_reason(mode: str, role: str, name: str) -> None:
    good = GOOD[role]

    def reply(request: ModelRequest) -> Any:
        if request.schema_name == role:
            return {**good, "body": BODIES[name]}
        return "nonsense" if request.schema_name == "repair_body" else GOOD[request.schema_name]

    driven = await drive(MODES[mode], reply, SKILL)
    check(driven, SKILL)
    assert driven.applied.result == SKILL
    [row] = driven.applied.report.rows
    assert row.status is not EditStatus.APPLIED
    assert row.edit.content == BODIES[name]


async def test_counts_without_end_add_up_to_something_that_can_be_written_down() -> None:
    """Two numbers as long as Python prints come to one that it does not."""
    rows = [{"type": "t", "count": int("9" * 4_300), "description": "d"}] * 2
    text = json.dumps({**GOOD["reflect_failures"], "patterns": rows})
    driven = await drive(MODES["patch"], honest_but("reflect_failures", text), SKILL, budget=2)
    assert [pattern.count for pattern in driven.found.patterns] == [100_000]


async def test_ten_thousand_edits_are_clipped_aloud_whatever_the_budget() -> None:
    edits = [{**GOOD["reflect_failures"]["edits"][0], "content": f"- rule-new {i}"} for i in range(10_000)]
    text = json.dumps({"patterns": [], "reasoning": "r", "edits": edits})

    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "learning_rate":
            return {**GOOD["learning_rate"], "learning_rate": 2}
        return text if request.schema_name == "reflect_failures" else sensible(request)

    for budget, most in ((2, 2), (None, 64)):
        driven = await drive(MODES["patch"], reply, SKILL, budget=budget)
        check(driven, SKILL)
        assert len(driven.applied.stages) == most
        assert f"10000 edits proposed, the first {most} taken" in driven.notes[0]
