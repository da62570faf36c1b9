"""Suggestions mode: what is suggested is merged, ranked and clipped; what is chosen conditions one whole rewrite."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.optimizer.proposals import Proposals, Source
from daemon.optimizer.replies import SuggestReply
from daemon.optimizer.updates.suggestions import SUGGEST, Suggestion, SuggestionsMode
from harnesses.models.client import ModelRequest
from skills_repo import guarded
from skills_repo.edits import Edit, EditLimits, EditStatus, Op, apply
from skills_repo.validate import validate
from tests.support.optimizer import Replier, make_skill, section, user_text
from tests.support.updates import context_for

MODE = SuggestionsMode()
SKILL = make_skill("- keep", "", guarded.START, "guidance", guarded.END)
BODY = "# demo\n\n- keep\n- rule-a\n"


def suggestions(name: str, source: Source = "failures", **fields: Any) -> Proposals[Suggestion]:
    made = Suggestion("add_rule", f"Add {name}", f"Say {name}.", "seen", evidence=(f"t-{name}",), **fields)
    return Proposals(source, (made,), (f"t-{name}",))


def answering(body: str = BODY, **by_role: Any) -> Replier:
    """Merges by keeping all, ranks as they come, writes `body`; other answers by role."""

    def reply(request: ModelRequest) -> Any:
        role = request.schema_name
        if role in by_role:
            return by_role[role]
        if role == "merge_suggestions":
            rows = [row for patch in json.loads(section(request, "patches")) for row in patch["edits"]]
            return {"reasoning": "r", "suggestions": rows}
        if role == "rank":
            rows = json.loads(section(request, "edits"))
            return {"reasoning": "r", "selected": [row["index"] for row in rows]}
        return {"reasoning": "r", "summary": "Say it\nonce.", "body": body}

    return reply


async def test_the_chosen_suggestions_become_one_rewrite_with_their_evidence() -> None:
    context, client = await context_for(answering(), skill=SKILL)
    found = await MODE.propose([suggestions("a"), suggestions("b"), suggestions("c", "successes")], context)
    [edit] = found.chosen
    assert (edit.op, edit.content, edit.target) == (Op.REWRITE, BODY, "")
    assert edit.rationale == "Say it once. (Add a; Add b)"
    assert edit.evidence == ("t-a", "t-b")
    assert found.proposed == found.chosen
    assert [request.schema_name for request in client.requests] == [
        "merge_suggestions",
        "merge_suggestions",
        "rank",
        "rewrite",
    ]
    assert found.usage.requests == 4
    assert [row["title"] for row in found.record["suggestions"]] == ["Add a", "Add b", "Add c"]
    assert [row["title"] for row in found.record["chosen"]] == ["Add a", "Add b"]
    assert [row["title"] for row in json.loads(section(client.asked("rewrite")[0], "chosen_suggestions"))] == [
        "Add a",
        "Add b",
    ]


async def test_the_rewrite_passes_the_guards_of_apply() -> None:
    context, _ = await context_for(answering(), skill=SKILL)
    found = await MODE.propose([suggestions("a")], context)
    applied = apply(SKILL, found.chosen, MODE.limits(context.limits))
    validate(applied.result)
    assert applied.result.text == make_skill("").text.replace("# demo\n\n", "") + BODY + (
        f"\n{guarded.START}\nguidance\n{guarded.END}\n"
    )
    assert apply(SKILL, found.chosen, context.limits).report.rows[0].status is EditStatus.NOT_ALLOWED


async def test_the_model_is_told_how_long_the_body_may_be() -> None:
    context, client = await context_for(answering(), skill=SKILL, limits=EditLimits(2, max_skill_chars=500))
    await MODE.propose([suggestions("a")], context)
    told = int(section(client.asked("rewrite")[0], "body_chars"))
    longest = Edit(Op.REWRITE, content="x" * told)
    [row] = apply(SKILL, [longest], MODE.limits(context.limits)).report.rows
    assert row.status is EditStatus.APPLIED


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (answering(merge_suggestions={"reasoning": "", "suggestions": []}), "merging left no suggestion"),
        (answering(rewrite="nonsense"), "the optimizer wrote no new body"),
        (answering(" \n"), "the optimizer wrote no new body"),
    ],
)
async def test_where_nothing_comes_of_it_that_is_said(reply: Replier, reason: str) -> None:
    context, _ = await context_for(reply)
    found = await MODE.propose([suggestions("a"), suggestions("b")], context)
    assert (found.chosen, found.proposed, found.reason) == ((), (), reason)
    assert found.notes or "merging" in reason


async def test_a_suggestion_that_the_step_refuses_is_not_carried_out() -> None:
    def refuse(edit: Edit) -> str:
        return "it names a task" if "Say a." in edit.content else ""

    context, client = await context_for(answering(), refuse=refuse)
    found = await MODE.propose([suggestions("a"), suggestions("b")], context)
    assert found.notes == ("suggestion «Add a» refused: it names a task",)
    assert "Say a." not in user_text(client.asked("rewrite")[0])
    only = await MODE.propose([suggestions("a")], context)
    assert only.reason == "every suggestion was refused: suggestion «Add a» refused: it names a task"


async def test_a_body_that_the_step_refuses_is_not_tried() -> None:
    context, _ = await context_for(answering(), refuse=lambda edit: "no" if edit.op is Op.REWRITE else "")
    found = await MODE.propose([suggestions("a")], context)
    assert (found.chosen, found.reason) == ((), "the new body was refused: no")
    assert [reason for _, reason in found.refused] == ["no"]


async def test_a_merge_that_cannot_be_read_keeps_the_suggestions_without_repetitions() -> None:
    context, _ = await context_for(answering(merge_suggestions="nonsense"))
    found = await MODE.propose([suggestions("a"), suggestions("a"), suggestions("b")], context)
    assert [row["support"] for row in found.record["suggestions"]] == [2, 1]
    assert "the lists' own suggestions are taken" in found.notes[0]


def test_what_reflection_suggests_is_bounded_and_its_evidence_its_own() -> None:
    row = {"type": "compress", "title": " a\n b " + "x" * 500, "instruction": "i" * 9_000, "motivation": "m" * 9_000}
    reply = SuggestReply.model_validate(
        {
            "patterns": [],
            "reasoning": "",
            "suggestions": [{**row, "evidence": ["t1", "t9", "t1"]}, {**row, "instruction": " \n", "evidence": []}],
        }
    )
    [made] = SUGGEST.read(reply, ["t1", "t2"])
    assert made.title.startswith("a b x")
    assert (len(made.title), len(made.instruction), len(made.motivation)) == (200, 2_000, 1_000)
    assert (made.evidence, made.support) == (("t1",), 1)


def test_the_budget_clips_suggestions() -> None:
    assert (MODE.budget(3), SUGGEST.wish(3)) == (3, "Propose at most 3 suggestions.")
