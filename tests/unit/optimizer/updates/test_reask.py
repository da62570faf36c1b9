"""An edit that misses is sent back once, with the reason; then it is skipped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.optimizer.updates.reask import Repaired, repaired
from harnesses.models.client import ModelRequest
from skills_repo import guarded
from skills_repo.edits import Edit, EditLimits, EditStatus, Op, apply
from skills_repo.skill import Skill
from tests.support.optimizer import ScriptedOptimizer, make_skill, section, user_text
from tests.support.updates import optimizer_for

SKILL = make_skill("- don't guess", "- look", "", "- end")
LIMITS = EditLimits(budget=4)
GOOD = Edit(Op.APPEND, content="- good", rationale="g", evidence=("t1",))
MISSED = Edit(Op.REPLACE, "- don\u2019t guess", "- never guess", "why", 3, ("t2",))


def correction(index: int, target: str = "- don't guess", **fields: Any) -> dict[str, Any]:
    return {"index": index, "op": "replace", "target": target, "content": "- never guess", **fields}


async def run(
    edits: list[Edit], *corrections: dict[str, Any], skill: Skill = SKILL, reply: Any = None, **fields: Any
) -> tuple[Repaired, ScriptedOptimizer]:
    client = ScriptedOptimizer(lambda _: reply if reply is not None else {"reasoning": "", "edits": list(corrections)})
    limits = fields.pop("limits", LIMITS)
    return await repaired(await optimizer_for(client), skill, edits, limits, "3/repair/0", **fields), client


def statuses(edits: tuple[Edit, ...], limits: EditLimits = LIMITS) -> list[EditStatus]:
    return [row.status for row in apply(SKILL, edits, limits).report.rows]


async def test_no_call_if_nothing_missed() -> None:
    found, client = await run([GOOD, Edit(Op.DELETE, "- look\n")])
    assert (found, client.requests) == (Repaired((GOOD, Edit(Op.DELETE, "- look\n"))), [])


async def test_a_missed_edit_is_corrected_in_its_old_position_and_keeps_its_reasons() -> None:
    found, client = await run([GOOD, MISSED, Edit(Op.DELETE, "- look\n")], correction(1))
    assert [edit.op for edit in found.edits] == [Op.APPEND, Op.REPLACE, Op.DELETE]
    mended = found.edits[1]
    assert (mended.target, mended.rationale, mended.support, mended.evidence) == ("- don't guess", "why", 3, ("t2",))
    assert statuses(found.edits) == [EditStatus.APPLIED] * 3
    assert found.notes == ("3/repair/0: edit 1 was sent back (target_missing) and then applied",)
    assert found.usage.requests == len(client.requests) == 1


async def test_the_model_sees_the_skill_every_edit_and_the_reason_with_the_nearest_place() -> None:
    _, client = await run([GOOD, MISSED], correction(1))
    [request] = client.requests
    rows = json.loads(section(request, "edits"))
    assert section(request, "current_skill") == SKILL.text.strip()
    assert [row["status"] for row in rows] == ["applied", "target_missing"]
    assert rows[1]["reason"] == (
        "The target does not occur in the skill, character for character."
        " (the nearest place is line 7, which reads «- don't guess»)"
    )
    assert user_text(request).endswith("Correct edit 1.")


async def test_all_that_missed_goes_back_in_one_request() -> None:
    edits = [MISSED, Edit(Op.INSERT_AFTER, "- ", "x"), Edit(Op.REPLACE, "name: demo", "x"), GOOD]
    found, client = await run(edits, correction(0), correction(1, "- look", op="insert_after", content="- x"))
    assert statuses(found.edits) == [
        EditStatus.APPLIED,
        EditStatus.APPLIED,
        EditStatus.TOUCHES_FRONTMATTER,
        EditStatus.APPLIED,
    ]
    assert len(client.requests) == 1
    assert (
        found.notes[-1] == "3/repair/0: edit 2 was sent back (touches_frontmatter) and is skipped (touches_frontmatter)"
    )


async def test_what_misses_again_is_skipped_and_not_sent_back_again() -> None:
    found, client = await run([MISSED, GOOD], correction(0, "nowhere either"))
    assert statuses(found.edits) == [EditStatus.TARGET_MISSING, EditStatus.APPLIED]
    assert len(client.requests) == 1
    assert found.notes == ("3/repair/0: edit 0 was sent back (target_missing) and is skipped (target_missing)",)


@pytest.mark.parametrize("reply", ["nonsense", "", {"edits": []}, {"reasoning": "", "edits": None}])
async def test_a_reply_that_cannot_be_read_leaves_the_edits_as_they_were(reply: Any) -> None:
    found, client = await run([MISSED, GOOD], reply=reply)
    assert found.edits == (MISSED, GOOD)
    assert "edits that missed are skipped" in found.notes[0]
    assert len(client.requests) == 2  # the client's own second try at the same question


async def test_an_edit_left_out_of_the_corrections_is_skipped() -> None:
    found, _ = await run([MISSED])
    assert found.edits == (MISSED,)
    assert found.notes == ("3/repair/0: edit 0 was sent back (target_missing) and is skipped (target_missing)",)


async def test_what_is_far_too_long_is_not_sent_back_whole() -> None:
    _, client = await run([Edit(Op.APPEND, content="x" * 1_000_000)], correction(0))
    [request] = client.requests
    assert len(user_text(request)) < 40_000
    assert "(976000 characters more)" in user_text(request)


async def test_only_what_missed_can_be_corrected_and_only_once() -> None:
    evil = correction(1, "- look", content="- evil")
    found, _ = await run([MISSED, GOOD], evil, correction(7), correction(-1), correction(0), correction(0, "- look"))
    assert found.edits[1] == GOOD
    assert found.edits[0].target == "- don't guess"
    assert found.notes[0] == "3/repair/0: 4 corrections are of edits that did not miss, or come again"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"content": "x" * 5_000}, EditStatus.TOO_LARGE),
        ({"content": "a\u200bb"}, EditStatus.HIDDEN_CHARACTERS),
        ({"content": guarded.START}, EditStatus.TOUCHES_GUARDED),
        ({"op": "delete"}, EditStatus.MALFORMED),
        ({"op": "insert_after", "target": ""}, EditStatus.MALFORMED),
    ],
)
async def test_a_correction_meets_the_same_guards(fields: dict[str, Any], status: EditStatus) -> None:
    found, _ = await run([MISSED], correction(0, **fields))
    assert statuses(found.edits) == [status]


async def test_a_correction_cannot_ask_for_a_rewrite() -> None:
    found, _ = await run([MISSED], correction(0, op="rewrite"), limits=EditLimits(4, also=frozenset({Op.REWRITE})))
    assert found.edits == (MISSED,)


async def test_a_correction_that_the_step_refuses_is_not_taken() -> None:
    found, _ = await run(
        [MISSED], correction(0, content="LEAK"), refuse=lambda e: "leaks" if e.content == "LEAK" else ""
    )
    assert found.edits == (MISSED,)
    assert found.notes[0] == "3/repair/0: the correction of edit 0 is refused: leaks"


@pytest.mark.parametrize(
    "edit",
    [
        Edit(Op.APPEND, content="a\u200bb"),
        Edit(Op.DELETE, ""),
        Edit(Op.REPLACE, "- look", "- look"),
        Edit(Op.APPEND, content="x", evidence=("t",)),
        Edit(Op.DELETE, SKILL.text.split("---\n", 2)[2]),
    ],
)
async def test_what_no_other_place_can_mend_is_not_sent_back(edit: Edit) -> None:
    found, client = await run([edit])
    assert (found.edits, client.requests) == ((edit,), [])


async def test_an_edit_over_the_budget_is_not_sent_back() -> None:
    _, client = await run([GOOD, Edit(Op.APPEND, content="- b")], limits=EditLimits(budget=1))
    assert client.requests == []


# --- a whole body

ALSO = EditLimits(budget=1, max_skill_chars=400, also=frozenset({Op.REWRITE}))
WITH_MARKERS = Edit(Op.REWRITE, content=f"# x\n{guarded.START}\n{guarded.END}\n", rationale="r", evidence=("t1",))


async def test_a_refused_body_is_sent_back_once_with_the_reason() -> None:
    found, client = await run([WITH_MARKERS], reply={"reasoning": "", "body": "# x\n\n- y\n"}, limits=ALSO)
    [edit] = found.edits
    assert (edit.op, edit.content, edit.rationale, edit.evidence) == (Op.REWRITE, "# x\n\n- y\n", "r", ("t1",))
    assert statuses(found.edits, ALSO) == [EditStatus.APPLIED]
    [request] = client.requests
    assert request.schema_name == "repair_body"
    assert "guarded region" in json.loads(section(request, "edits"))[0]["reason"]
    assert 300 < int(section(request, "body_chars")) < 400


@pytest.mark.parametrize("body", ["", "x" * 500, "---\nname: a\n---\n# x"])
async def test_a_body_that_is_refused_again_is_skipped(body: str) -> None:
    found, client = await run([WITH_MARKERS], reply={"reasoning": "", "body": body}, limits=ALSO)
    assert statuses(found.edits, ALSO) != [EditStatus.APPLIED]
    assert "is skipped" in found.notes[0]
    assert len(client.requests) == 1


async def test_a_corrected_body_is_judged_by_the_step_too() -> None:
    reply = {"reasoning": "", "body": "# LEAK"}
    found, _ = await run([WITH_MARKERS], reply=reply, limits=ALSO, refuse=lambda edit: "leaks")
    assert found.edits == (WITH_MARKERS,)
    assert found.notes == ("3/repair/0: the corrected body is refused: leaks",)


async def test_an_unreadable_correction_of_a_body_is_said() -> None:
    found, _ = await run([WITH_MARKERS], reply="nonsense", limits=ALSO)
    assert found.edits == (WITH_MARKERS,)
    assert "the body is skipped" in found.notes[0]


async def test_asked_again_the_journal_answers() -> None:
    client = ScriptedOptimizer(answered)
    optimizer = await optimizer_for(client)
    first = await repaired(optimizer, SKILL, [MISSED], LIMITS, "3/repair/0")
    assert await repaired(optimizer, SKILL, [MISSED], LIMITS, "3/repair/0") == first
    assert len(client.requests) == 1


def answered(request: ModelRequest) -> dict[str, Any]:
    assert request.schema_name == "repair"
    return {"reasoning": "", "edits": [correction(0)]}
