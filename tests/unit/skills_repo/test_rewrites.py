"""Whole rewrites and the guarded region's new text: the same guards as for any edit."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo import frontmatter, guarded
from skills_repo.edits import Applied, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.rewriting import room, written
from skills_repo.skill import Skill
from skills_repo.validate import validate
from tests.support.skills import a_skill, skill_text

LIMITS = EditLimits(budget=1, also=frozenset({Op.REWRITE, Op.SLOW_UPDATE}))
REGION = f"{guarded.START}\nlook twice\n{guarded.END}"
BODY = "\n# Rules\n\n- one\n- two\n"
NEW = "# Rules\n\n- better\n"


def rewrite(body: str, content: str, limits: EditLimits = LIMITS) -> Applied:
    return apply(a_skill(body), [Edit(Op.REWRITE, content=content)], limits)


def guide(body: str, content: str, limits: EditLimits = LIMITS) -> Applied:
    return apply(a_skill(body), [Edit(Op.SLOW_UPDATE, content=content)], limits)


def status(applied: Applied) -> EditStatus:
    (row,) = applied.report.rows
    return row.status


def test_a_rewrite_replaces_the_body_and_keeps_the_frontmatter() -> None:
    applied = rewrite(BODY, NEW)
    assert status(applied) is EditStatus.APPLIED
    assert applied.result.text == skill_text("\n" + NEW)
    assert applied.stages == (applied.result,)


@pytest.mark.parametrize("body", [f"{BODY}\n{REGION}\n", f"\n{REGION}\n{BODY}", f"\n# A\n\n{REGION}\n\n- tail\n\n\n"])
def test_a_rewrite_keeps_the_guarded_region_byte_for_byte_at_the_end(body: str) -> None:
    applied = rewrite(body, NEW)
    assert applied.result.text == skill_text(f"\n{NEW}\n{REGION}\n")
    validate(applied.result)


def test_a_rewrite_writes_the_files_line_ends() -> None:
    region = REGION.replace("\n", "\r\n")
    before = (skill_text(BODY) + "\n").replace("\n", "\r\n") + region + "\r\n"
    skill = Skill("xlsx", {"SKILL.md": before.encode()})
    after = apply(skill, [Edit(Op.REWRITE, content="# New\r\n\n- a\n")], LIMITS).result.text
    head = frontmatter.split(before).head
    assert after == f"{head}\r\n# New\r\n\r\n- a\r\n\r\n{region}\r\n"


def test_a_rewrite_of_a_file_that_ends_with_its_frontmatter_starts_a_body() -> None:
    skill = Skill("xlsx", {"SKILL.md": skill_text("").rstrip("\n").encode()})
    assert apply(skill, [Edit(Op.REWRITE, content=NEW)], LIMITS).result.text == skill_text("\n" + NEW)


def test_indentation_of_the_first_line_is_kept_and_outer_blank_lines_are_not() -> None:
    assert rewrite(BODY, "\n\n    code\n  - x\n\n\n").result.text == skill_text("\n    code\n  - x\n")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", EditStatus.DELETES_DOCUMENT),
        (" \n\t\n", EditStatus.DELETES_DOCUMENT),
        ("***\n", EditStatus.DELETES_DOCUMENT),
        (BODY, EditStatus.NO_CHANGE),
        ("# Rules\n\n- one\n- two", EditStatus.NO_CHANGE),
        (skill_text(NEW), EditStatus.TOUCHES_FRONTMATTER),
        ("\n\n---\ndescription: mine\n---\n" + NEW, EditStatus.TOUCHES_FRONTMATTER),
        ("```markdown\n---\nname: xlsx\n---\n# x\n```\n", EditStatus.TOUCHES_FRONTMATTER),
        ("---\r\nname : other\r\n---\r\n# x\r\n", EditStatus.TOUCHES_FRONTMATTER),
        (f"{NEW}\n{REGION}\n", EditStatus.TOUCHES_GUARDED),
        (f"{NEW}\n{guarded.END}\n", EditStatus.TOUCHES_GUARDED),
        (f"{NEW}\n<!-- Honed:SLOW-update:START -->\n", EditStatus.TOUCHES_GUARDED),
        ("# Rules\n\n- a\u200bb\n", EditStatus.HIDDEN_CHARACTERS),
        ("# Rules\n\n- \u202eab\n", EditStatus.HIDDEN_CHARACTERS),
        ("# Rules\n\n- \ud800\n", EditStatus.HIDDEN_CHARACTERS),
        ("```markdown\n# Rules\n\n- better\n```", EditStatus.MALFORMED),
        ("~~~~\n# Rules\n~~~~\n\n", EditStatus.MALFORMED),
        ("<think>what to write?</think>\n# Rules\n", EditStatus.MALFORMED),
        ("# Rules\n\n- x\n</THINKING>", EditStatus.MALFORMED),
        ("x" * 20_001, EditStatus.TOO_LARGE),
        ("x" * 19_990, EditStatus.TOO_LARGE),
    ],
)
def test_a_rewrite_that_is_refused_changes_nothing(content: str, expected: EditStatus) -> None:
    applied = rewrite(BODY, content)
    assert status(applied) is expected
    assert applied.result == a_skill(BODY)


@pytest.mark.parametrize(
    "content",
    [
        "---\n\n# Rules\n\n---\n",
        "---\n# a rule between two lines\n---\n\ntext\n",
        "```sh\nls\n```\n\nthen\n\n```sh\nrm x\n```\n",
        "# Rules\n\nStart the file with:\n\n```yaml\n---\nname: x\n---\n```\n",
    ],
)
def test_bodies_that_only_look_odd_are_taken(content: str) -> None:
    assert status(rewrite(BODY, content)) is EditStatus.APPLIED


def test_a_target_has_no_meaning_for_a_rewrite() -> None:
    edit = Edit(Op.REWRITE, "- one", NEW)
    assert status(apply(a_skill(BODY), [edit], LIMITS)) is EditStatus.MALFORMED


@pytest.mark.parametrize("op", [Op.REWRITE, Op.SLOW_UPDATE])
def test_without_leave_neither_may_be_done(op: Op) -> None:
    applied = apply(a_skill(BODY), [Edit(op, content=NEW)], EditLimits(budget=4))
    assert status(applied) is EditStatus.NOT_ALLOWED
    assert applied.report.rows[0].detail == f"{op} is not for this step"


def test_leave_for_one_is_no_leave_for_the_other() -> None:
    limits = EditLimits(budget=4, also=frozenset({Op.REWRITE}))
    edits = [Edit(Op.SLOW_UPDATE, content="x"), Edit(Op.REWRITE, content=NEW)]
    rows = apply(a_skill(BODY), edits, limits).report.rows
    assert [row.status for row in rows] == [EditStatus.NOT_ALLOWED, EditStatus.APPLIED]


def test_a_rewrite_may_not_go_beyond_the_size_cap_but_may_bring_an_oversized_skill_down() -> None:
    tight = EditLimits(budget=1, max_skill_chars=300, also=LIMITS.also)
    big = "\n# Rules\n\n" + "- one more rule\n" * 40
    assert status(rewrite(big, "- shorter\n" * 25, tight)) is EditStatus.APPLIED
    assert status(rewrite(BODY, "- longer\n" * 33, tight)) is EditStatus.TOO_LARGE


@pytest.mark.parametrize("tail", ["", f"\n{REGION}\n"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_body_of_exactly_the_room_fits(tail: str, ends: str) -> None:
    skill = Skill("xlsx", {"SKILL.md": skill_text(BODY + tail).replace("\n", ends).encode()})
    limits = EditLimits(budget=1, max_skill_chars=1_000, also=LIMITS.also)
    content = "x" * room(skill.text, 1_000)
    applied = apply(skill, [Edit(Op.REWRITE, content=content)], limits)
    assert status(applied) is EditStatus.APPLIED
    assert len(applied.result.text) <= 1_000
    assert room(skill.text, 10) == 0


# --- the guarded region


def test_a_slow_update_writes_a_new_region_at_the_end() -> None:
    applied = guide(BODY, "\nKeep the ledger.\n")
    region = f"{guarded.START}\nKeep the ledger.\n{guarded.END}"
    assert applied.result.text == skill_text(f"{BODY}\n{region}\n")
    assert guarded.read(applied.result.text) == "Keep the ledger."


def test_a_slow_update_replaces_the_regions_text_where_it_stands() -> None:
    applied = guide(f"\n{REGION}\n\n- tail\n", "new")
    assert applied.result.text == skill_text(f"\n{guarded.START}\nnew\n{guarded.END}\n\n- tail\n")


def test_a_slow_update_may_clear_the_guidance() -> None:
    assert guarded.read(guide(f"{BODY}\n{REGION}\n", "").result.text) == ""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("look twice", EditStatus.NO_CHANGE),
        ("\nlook twice\n\n", EditStatus.NO_CHANGE),
        ("x" * 3_001, EditStatus.TOO_LARGE),
        (f"a\n{guarded.END}\n# Rules", EditStatus.TOUCHES_GUARDED),
        ("a\u2066b", EditStatus.HIDDEN_CHARACTERS),
        (skill_text("x"), EditStatus.TOUCHES_FRONTMATTER),
        ("<think>hm</think> x", EditStatus.MALFORMED),
    ],
)
def test_a_slow_update_that_is_refused_changes_nothing(content: str, expected: EditStatus) -> None:
    body = f"{BODY}\n{REGION}\n"
    applied = guide(body, content)
    assert status(applied) is expected
    assert applied.result == a_skill(body)


def test_clearing_what_is_not_there_is_no_change() -> None:
    assert status(guide(BODY, " \n")) is EditStatus.NO_CHANGE


def test_the_skill_may_not_grow_over_its_cap_by_guidance() -> None:
    limits = EditLimits(budget=1, max_skill_chars=200, also=LIMITS.also)
    assert status(guide(BODY, "x" * 150, limits)) is EditStatus.TOO_LARGE


def test_crlf_guidance_equal_to_what_stands_is_no_change() -> None:
    text = skill_text(f"{BODY}\n{guarded.START}\na\nb\n{guarded.END}\n").replace("\n", "\r\n")
    skill = Skill("xlsx", {"SKILL.md": text.encode()})
    assert status(apply(skill, [Edit(Op.SLOW_UPDATE, content="a\nb")], LIMITS)) is EditStatus.NO_CHANGE


@pytest.mark.parametrize(
    "content",
    [
        " " * 19_000 + "x",
        "\n" * 19_000 + "x",
        ("x" + " " * 900 + "\n") * 20,
        "`" * 19_000,
        "```\n" * 4_000,
        "---\n" + "a\n" * 9_000,
        "<" * 19_000,
        "< think " * 2_000,
        "x" + "\u00a0" * 19_000 + "y",
    ],
    ids=len,
)
@pytest.mark.parametrize("op", [Op.REWRITE, Op.APPEND])
def test_hostile_content_takes_no_time(op: Op, content: str) -> None:
    started = time.process_time()
    limits = EditLimits(1, max_edit_chars=20_000, also=LIMITS.also)
    apply(a_skill(BODY), [Edit(op, content=content)], limits)
    assert time.process_time() - started < 20, "a third of a second here, hours if it were worse than quadratic"


# --- whatever comes

pieces = st.sampled_from(
    [
        "# Rules",
        "- one",
        "",
        "---",
        "name: x",
        "```",
        guarded.START,
        guarded.END,
        "<think>",
        "\u200b",
        "é",
        "\r",
        "  - d",
    ]
)
contents = st.one_of(st.lists(pieces, max_size=8).map("\n".join), st.text(max_size=20))
bodies = st.sampled_from([BODY, f"{BODY}\n{REGION}\n", f"\n{REGION}\n{BODY}", "", "\n", "x" * 800])


@settings(max_examples=150)
@given(bodies, st.sampled_from(["\n", "\r\n"]), st.lists(st.tuples(st.sampled_from(list(Op)), contents), max_size=4))
def test_whatever_is_written_what_is_protected_stays(body: str, ends: str, asked: list[tuple[Op, str]]) -> None:
    skill = Skill("xlsx", {"SKILL.md": skill_text(body).replace("\n", ends).encode()})
    edits = [Edit(op, content=content) for op, content in asked if op is not Op.SLOW_UPDATE]
    applied = apply(skill, edits, EditLimits(budget=4, also=frozenset({Op.REWRITE})))
    after = applied.result.text
    validate(applied.result)
    assert frontmatter.split(after).head == frontmatter.split(skill.text).head
    assert _region(after) == _region(skill.text)
    assert written(after).strip() or not written(skill.text).strip()
    assert len(applied.report.rows) == len(edits)


@settings(max_examples=80)
@given(bodies, contents)
def test_whatever_guidance_is_written_the_rest_stays(body: str, content: str) -> None:
    skill = a_skill(body)
    after = apply(skill, [Edit(Op.SLOW_UPDATE, content=content)], LIMITS).result
    validate(after)
    assert guarded.without(after.text) == guarded.without(skill.text)


def _region(text: str) -> str | None:
    region = guarded.find(text)
    return None if region is None else text[region.start : region.end]
