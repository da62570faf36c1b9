"""What other optimizers get wrong about edits, budgets and rewrites: one test a fault, named after it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.optimizer.proposals import Proposals
from daemon.optimizer.rank import rank
from daemon.optimizer.replies import RewriteReply
from daemon.optimizer.schedule import edit_budget
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.modes import MODES
from daemon.optimizer.updates.rewrite import NewBody
from harnesses.models.client import ModelReply, ModelRequest
from harnesses.models.structured import parse
from sandboxes.gateway.policy import Usage
from skills_repo import frontmatter, guarded
from skills_repo.edits import Applied, Edit, EditLimits, EditStatus, Op, apply
from tests.support.optimizer import (
    Replier,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    reflection,
    section,
    sensible,
    task_set,
    user_text,
)
from tests.support.updates import context_for, drive, optimizer_for, patch

REGION = f"{guarded.START}\n- keep this guidance\n{guarded.END}"
SKILL = make_skill("- look first", "  - then write", "", REGION, "", "- end")
REWRITES = EditLimits(1, also=frozenset({Op.REWRITE}))


def applied(*edits: Edit, budget: int = 8) -> Applied:
    return apply(SKILL, edits, EditLimits(budget))


def statuses(done: Applied) -> list[EditStatus]:
    return [row.status for row in done.report.rows]


def world(folder: Path, reply: Replier, **train: Any) -> World:
    """Two train tasks that need rule-a and rule-b, two selection tasks."""
    tasks = task_set(2, 2, 0)
    harness = WorldHarness({task.id: ["rule-a", "rule-b"] for task in tasks.tasks})
    knobs = TrainSection(
        **{"gate": "strict", "epochs": 1, "batch": 2, "meta_skill": False, "slow_update": "off", **train}
    )
    return World(folder, harness, tasks, ScriptedOptimizer(reply), skill=make_skill("- keep"), train=knobs)


# --- budgets


async def test_a_budget_of_zero_applies_no_edit_and_not_one() -> None:
    assert statuses(applied(Edit(Op.APPEND, content="x"), budget=0)) == [EditStatus.OVER_BUDGET]
    client = ScriptedOptimizer(sensible)
    edits = [Edit(Op.APPEND, content=str(i)) for i in range(3)]
    assert (await rank(await optimizer_for(client), SKILL, edits, budget=0, step=1)).edits == ()


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine", "autonomous"])
def test_no_schedule_comes_to_a_budget_of_zero(schedule: Any) -> None:
    assert min(edit_budget(schedule, step, 9, most=1, least=1) or 0 for step in range(1, 10)) == 1


async def test_a_learning_rate_that_cannot_be_read_is_no_budget_of_zero() -> None:
    context, _ = await context_for(lambda _: "nonsense", learning_rate=LearningRate(2, 4, 9), budget=4)
    picked = await context.budget([{}] * 5)
    assert picked.budget == 2
    assert picked.notes


async def test_the_reflecting_optimizer_is_told_the_scheduled_budget_not_the_configured_one(tmp_path: Path) -> None:
    made = world(tmp_path, lambda request: reflection(), epochs=4, batch=1, edit_budget=5, min_edit_budget=1)
    report = await made.training().run()
    asked = [int(section(request, "edit_budget")) for request in made.client.asked("reflect_failures")]
    assert asked == [step.budget for step in report.steps]
    assert (asked[0], asked[-1]) == (5, 1)


async def test_a_step_that_proposes_nothing_still_moves_the_schedule_on(tmp_path: Path) -> None:
    made = world(tmp_path, lambda request: reflection(), epochs=4, batch=1, edit_budget=4, min_edit_budget=2)
    report = await made.training().run()
    assert {step.outcome for step in report.steps} == {"no_edits"}
    assert [step.budget for step in report.steps] == [
        edit_budget("cosine", step, 8, most=4, least=2) for step in range(1, 9)
    ]


async def test_without_a_usable_ranking_support_decides_and_not_the_order() -> None:
    edits = [Edit(Op.APPEND, content=str(i), support=i) for i in range(1, 4)]
    found = await rank(await optimizer_for(ScriptedOptimizer(lambda _: "?")), SKILL, edits, budget=1, step=1)
    assert [edit.content for edit in found.edits] == ["3"]


# --- applying edits


def test_insert_after_a_missing_target_is_not_appended_silently() -> None:
    done = applied(Edit(Op.INSERT_AFTER, "nowhere", "- x"))
    assert statuses(done) == [EditStatus.TARGET_MISSING]
    assert done.result == SKILL


def test_content_keeps_its_indentation_and_trailing_blanks() -> None:
    done = applied(Edit(Op.REPLACE, "  - then write", "    - then write  "))
    assert "\n    - then write  \n" in done.result.text
    assert "\n    code\n" in applied(Edit(Op.APPEND, content="    code\n")).result.text


def test_a_target_that_occurs_twice_is_not_the_first_one() -> None:
    done = applied(Edit(Op.DELETE, "- "), Edit(Op.REPLACE, "n", "x"))
    assert statuses(done) == [EditStatus.TARGET_AMBIGUOUS] * 2


def test_a_target_that_is_also_in_the_guarded_region_is_still_found_outside() -> None:
    skill = make_skill(REGION, "", "- keep this guidance too")
    done = apply(skill, [Edit(Op.DELETE, "- keep this guidance too")], EditLimits(1))
    assert statuses(done) == [EditStatus.APPLIED]
    assert REGION in done.result.text


def test_a_replace_that_spans_the_protected_block_does_not_delete_it() -> None:
    done = applied(Edit(Op.REPLACE, f"write\n\n{REGION}\n\n- end", "x"), Edit(Op.DELETE, f"{REGION}\n"))
    assert statuses(done) == [EditStatus.TOUCHES_GUARDED] * 2
    assert done.result == SKILL


def test_markers_in_content_are_refused_and_not_stripped() -> None:
    done = applied(Edit(Op.APPEND, content=f"- a\n{guarded.END}\n- b"))
    assert statuses(done) == [EditStatus.TOUCHES_GUARDED]


@pytest.mark.parametrize("field", ["target", "content"])
async def test_a_null_target_or_content_does_not_lose_the_edit_silently(field: str) -> None:
    """The reply is sent back with the reason; what comes then counts."""
    broken = {**edit("- rule-a"), field: None}
    answers = iter([reflection(broken), reflection(edit("- rule-a")), reflection(), reflection()])
    driven = await drive(MODES["patch"], lambda request: next(answers), SKILL)
    assert "- rule-a" in driven.applied.result.text
    again = driven.client.asked("reflect_failures")
    assert any(f"{field}: Input should be a valid string" in request.messages[-1].content for request in again)


async def test_an_unknown_op_is_sent_back_with_the_ops_there_are() -> None:
    driven = await drive(MODES["patch"], lambda _: reflection(edit("- x", "upsert")), SKILL)
    asked = driven.client.asked("reflect_failures")
    assert any("'append', 'insert_after', 'replace' or 'delete'" in request.messages[-1].content for request in asked)
    assert len(driven.found.errors) == 3
    assert driven.applied.result == SKILL


async def test_an_edit_that_misses_is_asked_for_again_once(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "repair":
            rows = json.loads(section(request, "edits"))
            return {"reasoning": "", "edits": [{**_placed(rows[0]), "target": "- keep"}]}
        return reflection(edit("- rule-a\n- rule-b", "insert_after", "- Keep"))

    made = world(tmp_path, reply)
    report = await made.training().run()
    assert len(made.client.asked("repair")) == 1
    assert [step.outcome for step in report.steps] == ["accepted"]
    assert "sent back (target_missing) and then applied" in " ".join(report.steps[0].notes)
    assert [(fate.edit.target, fate.fate) for fate in report.edits] == [("- keep", "accepted")]
    assert (await made.history.read(made.history.branch)).text.endswith("- keep\n- rule-a\n- rule-b\n")


def _placed(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("index", "op", "target", "content")}


async def test_a_patch_of_nothing_but_misses_is_not_evaluated(tmp_path: Path) -> None:
    made = world(tmp_path, lambda _: reflection(edit("- rule-a", "replace", "nowhere")))
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["no_change"]
    assert [row.status for row in report.steps[0].report] == [EditStatus.TARGET_MISSING]
    base = make_skill("- keep").digest
    assert {digest for digest, _ in made.harness.runs} == {base}


async def test_an_evolved_text_that_is_byte_identical_is_no_candidate(tmp_path: Path) -> None:
    made = world(tmp_path, lambda _: reflection(edit("- keep", "replace", "- keep")))
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["no_change"]
    assert report.edits[0].reason == "it changes nothing"
    assert len({digest for digest, _ in made.harness.runs}) == 1


def test_edits_that_cancel_out_come_to_the_same_digest() -> None:
    done = applied(Edit(Op.REPLACE, "- end", "- fin"), Edit(Op.REPLACE, "- fin", "- end"))
    assert statuses(done) == [EditStatus.APPLIED] * 2
    assert done.result.digest == SKILL.digest


async def test_no_two_edits_target_the_same_region_is_checked_in_code() -> None:
    context, _ = await context_for(lambda _: "nonsense", skill=SKILL)
    first = Edit(Op.REPLACE, "- look first\n  - then write", "- a", support=2)
    patches = [Proposals("failures", (edit,), ()) for edit in (Edit(Op.DELETE, "- look first"), first)]
    found = await MODES["patch"].propose(patches, context)
    assert found.chosen == (first,)
    assert any("overlaps" in note for note in found.notes)


async def test_merges_and_clips_leave_nothing_unsaid() -> None:
    """A peer drops minibatches, indices and edits without a word."""
    context, _ = await context_for(lambda _: "nonsense", budget=1)
    found = await MODES["patch"].propose([patch("a"), patch("b")], context)
    assert len(found.chosen) == 1
    assert any("no usable merge reply" in note for note in found.notes)
    assert any("most support" in note for note in found.notes)


# --- rewrites


async def test_the_protected_block_is_kept_by_code_and_not_by_asking() -> None:
    """Both rewriting modes, and a model that forgets the block, or writes another one."""
    for mode, role in (("suggestions", "rewrite"), ("rewrite", "merge_rewrites")):
        driven = await drive(MODES[mode], _writing("# all new\n\n- rule"), SKILL)
        assert REGION in driven.applied.result.text, role
        assert "# all new" in driven.applied.result.text
        again = await drive(MODES[mode], _writing(f"# all new\n\n{REGION.replace('keep', 'drop')}"), SKILL)
        assert again.applied.result == SKILL
        assert statuses(again.applied) == [EditStatus.TOUCHES_GUARDED]


def _writing(body: str) -> Replier:
    """An optimizer of both rewriting modes that always writes this body."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        role = request.schema_name
        row = {"type": "clarify", "title": "t", "instruction": "i", "motivation": "m", "evidence": []}
        if role.startswith("suggest"):
            return {"patterns": [], "reasoning": "", "suggestions": [row]}
        if role == "merge_suggestions":
            return {"reasoning": "", "suggestions": [{**row, "support": 1}]}
        if role == "repair_body":
            return {"reasoning": "", "body": body}
        extra: dict[str, Any] = {"patterns": []} if role in ("rewrite_failures", "rewrite_successes") else {}
        evidence: dict[str, Any] = {} if role == "rewrite" else {"evidence": []}
        return {"reasoning": "", "summary": "s", "body": body, **extra, **evidence}

    return reply


async def test_a_full_rewrite_uses_every_minibatch_and_not_the_first_candidate_alone() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        rows = [row for patch in json.loads(section(request, "patches")) for row in patch["edits"]]
        return {"reasoning": "", "summary": "s", "body": "\n".join(row["body"] for row in rows), "evidence": []}

    context, _ = await context_for(reply)
    bodies = [Proposals("failures", (NewBody(f"# {name}", "s"),), ()) for name in "abc"]
    found = await MODES["rewrite"].propose(bodies, context)
    assert re.findall(r"# (\w)", found.chosen[0].content) == ["a", "b", "c"]


def test_a_rewrite_cut_at_the_output_limit_is_not_taken_for_whole() -> None:
    text = json.dumps({"reasoning": "", "summary": "s", "body": "# x\n" * 99})
    for cut in (text[:-5], text[:40]):
        with pytest.raises(ValueError, match="cut at the output limit"):
            parse(ModelReply(cut, Usage(), "length", "m"), RewriteReply)


def test_a_think_block_is_not_saved_as_the_skill() -> None:
    for content in ("<think>Let me see.</think>\n# demo\n\n- x", "<THINKING>\nhm\n", "# demo\n</think>\n- x"):
        done = apply(SKILL, [Edit(Op.REWRITE, content=content), Edit(Op.APPEND, content=content)], REWRITES)
        assert statuses(done) == [EditStatus.MALFORMED] * 2


def test_a_body_with_frontmatter_of_its_own_is_not_nested() -> None:
    nested = f"---\nname: demo\ndescription: mine\n---\n{SKILL.text}"
    for content in (nested, SKILL.text, f"```\n{SKILL.text}```"):
        done = apply(SKILL, [Edit(Op.REWRITE, content=content)], REWRITES)
        assert done.result == SKILL
        assert done.report.rows[0].status in {EditStatus.TOUCHES_FRONTMATTER, EditStatus.TOUCHES_GUARDED}


def test_the_whole_file_is_validated_and_not_the_body_without_frontmatter() -> None:
    done = apply(SKILL, [Edit(Op.REWRITE, content="# new\n\n- x")], REWRITES)
    assert frontmatter.split(done.result.text).head == frontmatter.split(SKILL.text).head
    broken = SKILL.with_text("# no frontmatter\n")
    [row] = apply(broken, [Edit(Op.REWRITE, content="# new")], REWRITES).report.rows
    assert row.status is EditStatus.INVALID_RESULT


async def test_a_rewrite_that_is_rejected_is_remembered_by_what_it_was_for(tmp_path: Path) -> None:
    """And not by its whole body in every later prompt."""
    body = "# demo\n\n" + "- of no use\n" * 60
    made = world(tmp_path, _writing(body), update_mode="rewrite", epochs=1, batch=1)
    report = await made.training().run()
    assert report.steps[0].outcome == "rejected"
    later = made.client.asked("rewrite_failures")[-1]
    earlier = section(later, "earlier_steps")
    assert '"op": "rewrite"' in earlier
    assert "of no use" not in earlier
    assert "of no use" not in user_text(later)
