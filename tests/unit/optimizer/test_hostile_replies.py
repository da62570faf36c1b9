"""Whatever the optimizer model answers: no crash, no way past a guard, and every edit in the report with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from harnesses.models.client import ModelRequest
from skills_repo.skill import Skill
from skills_repo.validate import validate
from tests.support.hostile import BODIES, EDITS, RULES, SKILL
from tests.support.optimizer import ScriptedOptimizer, World, WorldHarness, edit, make_skill, reflection, task_set

GOOD = reflection(edit("- rule-a"))
KEEP = make_skill("- keep")


def without(key: str) -> dict[str, Any]:
    return {**GOOD, "edits": [{k: v for k, v in GOOD["edits"][0].items() if k != key}]}


def having(**fields: Any) -> dict[str, Any]:
    return {**GOOD, "edits": [{**GOOD["edits"][0], **fields}]}


UNREADABLE: dict[str, Any] = {
    "nothing": "",
    "prose": "I would add a rule.",
    "truncated": json.dumps(GOOD)[:-9],
    "array": [GOOD, {**GOOD, "reasoning": "other"}],
    "number": "42",
    "null": "null",
    "two objects": json.dumps(GOOD) + json.dumps({**GOOD, "reasoning": "other"}),
    "deep": '{"a":' * 2000 + "1" + "}" * 2000,
    "unknown key": {**GOOD, "extra": 1},
    "edits missing": {key: value for key, value in GOOD.items() if key != "edits"},
    "edits null": {**GOOD, "edits": None},
    "edits text": {**GOOD, "edits": "- rule-a"},
    "target null": having(target=None),
    "content null": having(content=None),
    "content list": having(content=["a"]),
    "op unknown": having(op="rewrite"),
    "op upper case": having(op="APPEND"),
    "op missing": without("op"),
    "evidence text": having(evidence="t1"),
    "evidence numbers": having(evidence=[1]),
    "count text": {**GOOD, "patterns": [{"type": "t", "count": "many", "description": ""}]},
    "nan": '{"patterns": [], "reasoning": "r", "edits": [NaN]}',
}

HARMFUL: dict[str, dict[str, Any]] = {
    "deletes the document": edit("", op="delete", target=make_skill("- keep").text),
    "deletes the body": edit("", op="delete", target="# demo\n\n- keep\n- keep"),
    "renames the skill": edit("name: other", op="replace", target="name: demo"),
    "second frontmatter": edit("name: x\n---", op="insert_after", target="description: A skill for tests."),
    "huge": edit("x" * 30_000),
    "hidden characters": edit("- be\u200b good"),
    "direction override": edit("- \u202eevil"),
    "tag characters": edit("- hi \U000e0041\U000e0042"),
    "empty append": edit("   \n"),
    "append with a target": edit("", op="append", target="- keep"),
    "delete with content": edit("boo", op="delete", target="- keep"),
    "empty target": edit("x", op="replace", target=""),
    "ambiguous target": edit("x", op="replace", target="e"),
    "missing target": edit("x", op="insert_after", target="not there"),
    "no change": edit("# demo", op="replace", target="# demo"),
}


def world(folder: Path, answer: Any, *, skill: Skill = KEEP, **train: Any) -> World:
    """One train task that fails; a candidate can only be accepted by mending it."""

    def reply(request: ModelRequest) -> Any:
        return answer if isinstance(answer, str | dict) else json.dumps(answer)

    tasks = task_set(1, 2, 0)
    knobs = TrainSection(**{"gate": "strict", "epochs": 1, "batch": 1, **train})
    harness = WorldHarness({task.id: ["rule-a"] for task in tasks.tasks})
    return World(folder, harness, tasks, ScriptedOptimizer(reply), skill=skill, train=knobs)


@pytest.mark.parametrize("name", UNREADABLE)
async def test_an_unreadable_reply_ends_the_step_as_the_optimizers_error(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, UNREADABLE[name])
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["optimizer_error"]
    assert report.steps[0].notes
    assert report.commits == ()
    assert len(made.client.requests) == 2  # asked once more with the reason


@pytest.mark.parametrize("name", HARMFUL)
async def test_a_harmful_edit_is_in_the_report_and_nowhere_else(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, reflection(HARMFUL[name]))
    report = await made.training().run()
    assert report.steps[0].outcome == "no_change"
    [fate] = report.edits
    assert fate.fate in {"skipped", "refused"}
    assert fate.reason
    assert (await made.history.read(await made.history.base())).digest == make_skill("- keep").digest


@pytest.mark.parametrize("name", HARMFUL)
async def test_beside_a_harmful_edit_the_good_one_still_counts(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, reflection(HARMFUL[name], edit("- rule-a")))
    report = await made.training().run()
    assert (report.steps[0].outcome, report.accepted) == ("accepted", 1)
    skill = await made.history.read(made.history.branch)
    validate(skill)
    assert skill.text == make_skill("- keep").text + "\n- rule-a\n"


def whole(body: str) -> Any:
    """An optimizer of both rewriting modes that writes this body, whoever asks."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        row = {"type": "clarify", "title": "t", "instruction": "i", "motivation": "m", "evidence": []}
        patterns: dict[str, Any] = {"patterns": []} if request.schema_name.endswith("failures") else {}
        reasons = {"reasoning": "", **patterns}
        if request.schema_name.startswith("suggest"):
            return {**reasons, "suggestions": [row]}
        if request.schema_name == "repair_body":
            return {**reasons, "body": body}
        evidence: dict[str, Any] = {} if request.schema_name == "rewrite" else {"evidence": []}
        return {**reasons, "summary": "s", "body": body, **evidence}

    return reply


@pytest.mark.parametrize("mode", ["suggestions", "rewrite"])
@pytest.mark.parametrize("name", [*sorted(BODIES)[::6], "the whole file", "fenced", "an order", "thinking"])
async def test_a_harmful_body_ends_in_the_report_and_nowhere_else(tmp_path: Path, mode: str, name: str) -> None:
    made = world(tmp_path, "", skill=SKILL, update_mode=mode)
    made.client.reply = whole(BODIES[name])
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["no_change"]
    [fate] = report.edits
    assert fate.fate in {"skipped", "refused"}
    assert fate.reason
    assert report.commits == ()


@pytest.mark.parametrize("mode", ["suggestions", "rewrite"])
async def test_a_good_body_is_one_commit_with_all_that_is_protected_as_it_was(tmp_path: Path, mode: str) -> None:
    made = world(tmp_path, "", skill=SKILL, update_mode=mode)
    made.client.reply = whole("# demo\n\n" + "\n".join(RULES) + "\n- rule-a\n")
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["accepted"]
    assert len(report.commits) == 1
    after = await made.history.read(made.history.branch)
    validate(after)
    assert after.text == SKILL.text.replace(RULES[-1], f"{RULES[-1]}\n- rule-a")


@pytest.mark.parametrize("name", sorted(EDITS)[::5])
async def test_in_a_whole_run_a_harmful_edit_is_told_with_its_reason(tmp_path: Path, name: str) -> None:
    made = world(tmp_path, reflection(EDITS[name]), skill=SKILL)
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["no_change"]
    assert [fate.fate in {"skipped", "refused"} and bool(fate.reason) for fate in report.edits] == [True]
    assert report.commits == ()
