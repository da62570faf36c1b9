"""Edits of other files on their way through the optimizer: replies, merging, correction, refusals, attribution."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from daemon.optimizer.firewall import Firewall
from daemon.optimizer.gates.attribution import attribute
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool
from daemon.optimizer.merge import apart
from daemon.optimizer.proposals import normalised, remembered, shown, to_edit
from daemon.optimizer.refusals import Refusals
from daemon.optimizer.replies import MergedEdit, ProposedEdit
from daemon.optimizer.replies_files import FileEdit, MergedReferenceEdit, ReferenceEdit, schemas
from daemon.optimizer.settings import Knobs
from daemon.optimizer.skill_files import FILES_TOKENS, SkillFiles
from daemon.optimizer.updates.reask import Repaired, repaired
from daemon.tasks.task import Task
from harnesses.models.client import ModelRequest
from harnesses.models.schema import strict_schema
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.skill import Skill
from tests.support.gates import ScriptedSelection, selection_tasks
from tests.support.optimizer import ScriptedOptimizer, make_skill, task_set, user_text
from tests.support.updates import optimizer_for

NOTES, NEW = "references/notes.md", "references/new.md"
LIMITS = EditLimits(8, references=True, also=REFERENCE_OPS)
PLAIN = EditLimits(8, editable=("references/*.md",))
SKILL = make_skill("- look", f"- Notes: {NOTES}", "- end").with_file(NOTES, b"- one\n- two\n")


def proposed(**fields: Any) -> dict[str, Any]:
    """A reply's edit where references may be made."""
    row = {"op": "append", "file": "", "target": "", "content": "- x", "link": "", "rationale": "w", "evidence": ["t1"]}
    return {**row, **fields}


def create(**fields: Any) -> Edit:
    return Edit(Op.CREATE, **{"content": "- new", "file": NEW, "link": f"- see {NEW}", **fields})


# Replies


def test_a_reply_names_the_file_and_an_edit_of_skill_md_needs_no_link() -> None:
    edit = to_edit(ReferenceEdit(**proposed(op="create", file=f"./{NEW} ", link="- see it")), ["t1"])
    assert (edit.op, edit.file, edit.link, edit.evidence) == (Op.CREATE, NEW, "- see it", ("t1",))
    plain = to_edit(ReferenceEdit(**proposed(link="- said by mistake")), ["t1"])
    assert (plain.file, plain.link) == ("SKILL.md", "")
    merged = to_edit(MergedReferenceEdit(**proposed(file=NOTES, support=3)), ["t1"], 2)
    assert (merged.file, merged.support) == (NOTES, 2)


def test_the_schemas_hold_files_and_operations_only_where_they_are_allowed() -> None:
    files = SkillFiles.of(SKILL, LIMITS)
    assert schemas(None).reflect.model_fields["edits"].annotation == list[ProposedEdit]
    assert schemas(None).merge.model_fields["edits"].annotation == list[MergedEdit]
    edited = schemas(SkillFiles.of(SKILL, PLAIN))
    with pytest.raises(ValidationError):
        FileEdit(**{name: value for name, value in proposed(op="create").items() if name != "link"})
    for given, link in ((edited, False), (schemas(files), True)):
        for schema in (given.reflect, given.merge, given.repair):
            [edit] = [
                part for name, part in schema.model_json_schema()["$defs"].items() if name.endswith(("Edit", "Edits"))
            ]
            assert "file" in edit["properties"]
            assert ("link" in edit["properties"]) is link
            assert ("create" in edit["properties"]["op"]["enum"]) is link
            strict_schema(schema.model_json_schema())


def test_prompts_and_memory_name_the_file_where_it_is_not_skill_md() -> None:
    plain = Edit(Op.APPEND, content="- x")
    assert "file" not in shown(plain) | remembered(plain)
    assert shown(create())["file"] == remembered(create())["file"] == NEW
    assert remembered(create())["link"] == f"- see {NEW}"
    assert normalised(plain) != normalised(replace(plain, file=NOTES))


# What is shown


def test_the_optimizer_is_shown_texts_it_may_edit_and_names_of_the_rest() -> None:
    skill = SKILL.with_file("scripts/run.sh", b"#!/bin/sh\n").with_file("references/broken.md", b"\xff")
    files = SkillFiles.of(skill, LIMITS)
    assert files is not None
    assert [file.path for file in files.shown] == [NOTES]
    assert files.named == ({"file": "references/broken.md", "bytes": 1}, {"file": "scripts/run.sh", "bytes": 10})
    assert SkillFiles.of(skill, EditLimits(1)) is None


def test_what_does_not_fit_is_named_with_its_size() -> None:
    long = b"word " * (FILES_TOKENS // 2)
    skill = replace(SKILL, files={**SKILL.files, **{f"references/{name}.md": long for name in "abc"}})
    files = SkillFiles.of(skill, LIMITS)
    assert files is not None
    assert [file.path for file in files.shown] == ["references/a.md", NOTES]
    assert [row["file"] for row in files.named] == ["references/b.md", "references/c.md"]
    assert "too long" in files.named[0]["editable"]
    many = replace(SKILL, files={**SKILL.files, **{f"assets/{number:03}": b"\x00" for number in range(150)}})
    found = SkillFiles.of(many, LIMITS)
    assert found is not None
    assert (len(found.named), found.left_out) == (100, 50)


# Merging


def kept(*edits: Edit) -> list[int]:
    left, _ = apart(SKILL, edits)
    return [edits.index(edit) for edit in left]


def test_the_same_text_in_two_files_is_two_places() -> None:
    assert kept(Edit(Op.REPLACE, "- one", "- 1", file=NOTES), Edit(Op.REPLACE, "- look", "- l")) == [0, 1]
    assert kept(Edit(Op.REPLACE, "- one", "- 1", file=NOTES), Edit(Op.DELETE, "- one\n", file=NOTES)) == [0]
    one, other = Edit(Op.INSERT_AFTER, "- one", "- a", file=NOTES), Edit(Op.INSERT_AFTER, "- one", "- b", file=NOTES)
    assert kept(one, other) == [0, 1]


def test_a_reference_is_made_once_and_not_edited_and_removed_at_once() -> None:
    assert kept(create(), create(content="- other", support=2)) == [1]
    assert kept(Edit(Op.REMOVE, file=NOTES), Edit(Op.REPLACE, "- one", "- 1", file=NOTES, support=2)) == [1]
    assert kept(Edit(Op.REMOVE, file=NOTES), Edit(Op.REPLACE, f"- Notes: {NOTES}", "- N")) == [0]
    assert kept(create(target="- look"), Edit(Op.INSERT_AFTER, "- look", "- more")) == [0, 1]
    assert kept(create(target="- look"), Edit(Op.REPLACE, "- look", "- see")) == [0]
    assert kept(Edit(Op.APPEND, content="x", file="gone"), Edit(Op.DELETE, "x", file="gone")) == [0, 1]


def test_a_dropped_edit_is_named_with_its_file() -> None:
    _, [note] = apart(SKILL, [create(support=2), create(content="- other")])
    assert note == f"dropped create «{NEW}» (support 1): it overlaps with create «{NEW}» (support 2)"


# Correction


async def mended(edit: Edit, limits: EditLimits = LIMITS, **fields: Any) -> tuple[Repaired, ScriptedOptimizer]:
    row = {name: value for name, value in proposed(**fields).items() if name not in ("rationale", "evidence")}
    if not limits.references:
        del row["link"]
    client = ScriptedOptimizer(lambda _: {"reasoning": "", "edits": [{"index": 0, **row}]})
    return await repaired(await optimizer_for(client), SKILL, [edit], limits, "1/repair/0"), client


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (create(link=""), EditStatus.NOT_LINKED),
        (create(link="- see it"), EditStatus.NOT_LINKED),
        (create(file="references/Bad Name.md"), EditStatus.BAD_FILE_NAME),
        (create(file=NOTES, link=f"- {NOTES}"), EditStatus.FILE_EXISTS),
        (Edit(Op.APPEND, content="- x", file=NEW), EditStatus.FILE_MISSING),
        (Edit(Op.REPLACE, "- three", "- x", file=NOTES), EditStatus.TARGET_MISSING),
        (Edit(Op.APPEND, content=f"- read {NEW}"), EditStatus.DEAD_LINK),
    ],
)
async def test_what_a_place_a_name_or_a_link_can_mend_is_sent_back_once(edit: Edit, status: EditStatus) -> None:
    found, client = await mended(edit, op="create", file=NEW, content="- new", link=f"- see {NEW}")
    [request] = client.requests
    row = json.loads(user_text(request).split("<edits>\n")[1].split("\n</edits>")[0])[0]
    assert row["status"] == str(status)
    assert status.explanation in row["reason"]
    [after] = found.edits
    assert after == create(link=f"- see {NEW}", rationale=after.rationale)
    assert apply(SKILL, found.edits, LIMITS).report.rows[0].status is EditStatus.APPLIED
    assert found.notes == (f"1/repair/0: edit 0 was sent back ({status}) and then applied",)


async def test_a_correction_cannot_make_references_where_they_are_not_allowed() -> None:
    edit = Edit(Op.REPLACE, "- three", "- x", file=NOTES)
    found, client = await mended(edit, PLAIN, op="replace", file=NOTES, target="- two", content="- x")
    assert found.edits == (replace(edit, target="- two"),)
    assert "create" not in json.dumps(client.requests[0].schema)
    refused, _ = await mended(edit, PLAIN, op="create", file=NEW, content="- x")
    assert refused.edits == (edit,)  # the reply does not even parse
    assert "edits that missed are skipped" in refused.notes[0]


async def test_what_nothing_can_mend_is_not_sent_back() -> None:
    for edit in (Edit(Op.APPEND, content="x", file="scripts/run.sh"), create(content="a\u200bb")):
        client = ScriptedOptimizer(_never)
        found = await repaired(await optimizer_for(client), SKILL, [edit], LIMITS, "1/repair/0")
        assert found.edits == (edit,)


def _never(request: ModelRequest) -> dict[str, Any]:
    pytest.fail(f"asked for {request.schema_name}")


# Refusals

REFUSALS = Refusals(Firewall.of(task_set(2, 2, 2)))
SECRET = "sk-ant-api03-" + "a1B2" * 20


@pytest.mark.parametrize(
    "edit",
    [
        Edit(Op.APPEND, content="- Answer GOLD-selection-01.", file=NOTES),
        create(content="- Answer GOLD-selection-01."),
        create(link=f"- {NEW} holds GOLD-selection-01."),
        create(file="references/gold-selection-01.md", link="- references/gold-selection-01.md"),
        Edit(Op.REMOVE, "- look", file=NOTES, link="- Answer GOLD-selection-01."),
        Edit(Op.APPEND, content=f"- key {SECRET}", file=NOTES),
        create(link=f"- {NEW} {SECRET}"),
    ],
)
def test_no_file_name_or_link_carries_gold_or_a_credential(edit: Edit) -> None:
    assert REFUSALS.edit(edit, SKILL, LIMITS, set())


def test_what_a_file_says_already_is_no_news_in_it() -> None:
    skill = SKILL.with_file(NOTES, b"- A person wrote GOLD-train-00 here.\n")
    again = Edit(Op.REPLACE, "here.", "here: GOLD-train-00.", file=NOTES)
    assert REFUSALS.edit(again, skill, LIMITS, set()) == ""
    assert REFUSALS.edit(Edit(Op.APPEND, content="- GOLD-train-00"), skill, LIMITS, set())
    assert REFUSALS.candidate(skill, apply(skill, [again], LIMITS).result, set()) == ""


def test_a_candidate_is_judged_in_every_file() -> None:
    leaking = SKILL.with_file(NOTES, b"- one\n- GOLD-selection-01\n")
    reason = REFUSALS.candidate(SKILL, leaking, set())
    assert reason.startswith(f"the edits together are refused: {NOTES} ")
    assert "GOLD" not in reason


def test_an_edit_that_was_rejected_is_known_in_every_file() -> None:
    edit = Edit(Op.APPEND, content="- x", file=NOTES)
    tried = {(SKILL.digest, apply(SKILL, [edit], LIMITS).result.digest)}
    assert "already tried" in REFUSALS.edit(edit, SKILL, LIMITS, tried)
    assert REFUSALS.edit(replace(edit, file="SKILL.md"), SKILL, LIMITS, tried) == ""


# Knobs


def test_the_knobs_say_what_edits_may_touch_and_are_part_of_the_fingerprint() -> None:
    assert Knobs().limits(3) == EditLimits(3)
    open_ = Knobs(editable=("assets/*",), references=True, max_reference_chars=900)
    assert open_.limits(3) == EditLimits(
        3, editable=("assets/*",), references=True, max_reference_chars=900, also=REFERENCE_OPS
    )
    assert open_.slow_update_limits.also == {Op.SLOW_UPDATE}
    assert open_.slow_update_limits.references


def test_the_guidance_cannot_take_the_only_link_away() -> None:
    limits = Knobs(references=True).slow_update_limits
    written = apply(make_skill("- look"), [Edit(Op.SLOW_UPDATE, content=f"Read {NOTES}.")], limits)
    assert written.report.rows[0].status is EditStatus.DEAD_LINK
    skill = apply(
        make_skill("- look").with_file(NOTES, b"- x\n"), [Edit(Op.SLOW_UPDATE, content=f"Read {NOTES}.")], limits
    )
    assert skill.report.rows[0].status is EditStatus.APPLIED
    gone = apply(skill.result, [Edit(Op.SLOW_UPDATE, content="Look twice.")], limits)
    assert gone.report.rows[0].status is EditStatus.NOT_LINKED


# Gate and attribution

N = 12


class Folder(ScriptedSelection):
    """A task is solved if any file holds its rule; tasks 0 to 3 always are."""

    def __init__(self, rules: dict[bytes, list[int]]) -> None:
        super().__init__(selection_tasks(N))
        self._rules = rules

    def score(self, skill: Skill, trial: int, task: Task) -> float | None:
        number = int(task.id[1:])
        whole = b"\n".join(skill.files.values())
        return float(number < 4 or any(number in ids for rule, ids in self._rules.items() if rule in whole))


async def test_a_reference_that_carries_nothing_is_dropped_with_its_link() -> None:
    idle = create(content="- idle")
    edits = [Edit(Op.APPEND, content="- rule-a"), idle, Edit(Op.APPEND, content="- rule-b", file=NOTES)]
    selection = Folder({b"rule-a": [4, 5, 6], b"rule-b": [7, 8]})
    gate, applied = PairedGate(), apply(SKILL, edits, LIMITS)
    verdict = await gate.judge(SKILL, applied.result, selection, Pool(0, 6))
    found = await attribute(gate.judge, SKILL, applied, verdict, selection, limits=LIMITS)
    assert found.dropped == (1,)
    assert NEW not in found.applied.result.files
    assert NEW not in found.applied.result.text
    assert list(found.shares) == pytest.approx([3 / N, 2 / N])


async def test_leaving_a_reference_out_takes_along_what_hangs_on_it() -> None:
    edits = [create(content="- rule-a"), Edit(Op.APPEND, content="- rule-b", file=NEW)]
    selection = Folder({b"rule-a": [4, 5, 6], b"rule-b": [7, 8]})
    gate, applied = PairedGate(), apply(SKILL, edits, LIMITS)
    verdict = await gate.judge(SKILL, applied.result, selection, Pool(0, 6))
    found = await attribute(gate.judge, SKILL, applied, verdict, selection, limits=LIMITS)
    assert found.dropped == ()
    assert list(found.shares) == pytest.approx([5 / N, 2 / N])


async def test_a_shorter_skill_is_one_with_less_to_read_in_all_its_files() -> None:
    """With a size penalty an equal score is kept if there is less to read: text moved elsewhere is not less."""
    gate = StrictGate(shorter_wins=True)
    selection = Folder({})
    moved = SKILL.with_text(SKILL.text.replace("- look\n", "")).with_file(NOTES, b"- one\n- two\n- look twice\n")
    less = SKILL.with_file(NOTES, b"- one\n")
    for candidate, ruling in ((moved, "rejected"), (less, "accepted")):
        verdict = await gate.judge(SKILL, candidate, selection, Pool(0, 1))
        assert verdict.ruling == ruling
