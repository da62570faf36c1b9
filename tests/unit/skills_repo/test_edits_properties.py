"""Bounded edits against random files and hostile edits: what must hold whatever comes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo import frontmatter, guarded
from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.references import dead, unlinked
from skills_repo.skill import Skill
from skills_repo.validate import validate
from tests.support.skills import skill_text

LINES = ["", "# Rules", "- one", "- two", "  - deep", "text with one and two", "---", "```", "\tx", "name: xlsx", "é"]
PATHS = ["references/a.md", "references/new.md", "assets/t.txt", "other", "../x", "", "SKILL.md", "references/A.md"]
OPEN = EditLimits(9, editable=("assets/*",), references=True, also=REFERENCE_OPS)
REGION = [guarded.START, "look twice", guarded.END]

lines = st.lists(st.sampled_from(LINES), max_size=8)
line_ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def skills(draw: st.DrawFn) -> Skill:
    """A valid skill with or without a guarded region, LF or CRLF, ended or not."""
    region = draw(st.sampled_from([[], REGION]))
    body = "\n".join([*draw(lines), *region, *draw(lines)]) + draw(st.sampled_from(["", "\n", "\n\n"]))
    text = skill_text(body).replace("\n", draw(line_ends))
    return Skill("xlsx", {"SKILL.md": text.encode(), "other": b"\x00"})


@st.composite
def edits(draw: st.DrawFn, skill: Skill) -> Edit:
    """An edit whose target is often a piece of the skill."""
    text = skill.text
    start = draw(st.integers(0, len(text)))
    piece = text[start : start + draw(st.integers(0, 30))]
    target = draw(st.one_of(st.just(piece), st.just(piece.replace("\r\n", "\n")), st.sampled_from(LINES)))
    content = draw(st.one_of(st.sampled_from([*LINES, "- new\n- rule", guarded.END, ""]), st.text(max_size=8)))
    op = draw(st.sampled_from(list(Op)))
    return Edit(op, target, "" if op is Op.DELETE else content)


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


@settings(max_examples=200)
@given(st.data())
def test_one_edit_changes_its_own_place_and_nothing_else(data: st.DataObject) -> None:
    skill = data.draw(skills())
    edit = data.draw(edits(skill))
    applied = apply(skill, [edit], EditLimits(budget=1))
    before, after = skill.text, applied.result.text
    status = applied.report.rows[0].status
    if status is not EditStatus.APPLIED:
        assert applied.result == skill
        return
    validate(applied.result)
    assert after != before
    assert frontmatter.split(after).head.rstrip("\r\n") == frontmatter.split(before).head.rstrip("\r\n")
    assert _region(after) == _region(before)
    assert {path for path in skill.files if skill.files[path] != applied.result.files[path]} == {"SKILL.md"}
    assert _is_splice(before, after, edit)


def _region(text: str) -> str | None:
    region = guarded.find(text)
    return None if region is None else text[region.start : region.end]


def _is_splice(before: str, after: str, edit: Edit) -> bool:
    """`after` is `before` with exactly one place of the target (or one point) replaced by the content."""
    target = "" if edit.op in (Op.APPEND, Op.INSERT_AFTER) else _lf(edit.target)
    content = _lf(edit.content)
    for start in range(len(before) + 1):
        if not after.startswith(before[:start]):
            return False
        for end in range(start, min(len(before), start + 2 * len(target) + 1) + 1):
            tail = before[end:]
            if _lf(before[start:end]) != target or not after.endswith(tail) or len(after) - len(tail) < start:
                continue
            new = _lf(after[start : len(after) - len(tail)])
            exact = edit.op in (Op.REPLACE, Op.DELETE)
            if new == content if exact else new.strip() == content.strip() and content.strip("\n ") in new:
                return True
    return False


values = st.one_of(st.none(), st.integers(), st.text(max_size=6), st.binary(max_size=3), st.lists(st.text(max_size=2)))
hostile = st.one_of(
    values,
    st.builds(Edit, *[st.one_of(values, st.sampled_from(list(Op))), *[values] * 7]),
    st.builds(Edit, st.sampled_from(list(Op)), file=st.sampled_from(PATHS), link=st.sampled_from(PATHS)),
)


@settings(max_examples=120)
@given(skills(), st.lists(hostile, max_size=6), st.integers(-1, 6), st.booleans())
def test_whatever_a_model_answers_nothing_is_raised_and_every_edit_has_a_row(
    skill: Skill, asked: list[Any], budget: int, files: bool
) -> None:
    applied = apply(skill, asked, replace(OPEN, budget=budget) if files else EditLimits(budget=budget))
    assert [row.edit for row in applied.report.rows] == asked
    assert len(applied.stages) == len(applied.report.applied) <= max(budget, 0)
    validate(applied.result)


@settings(max_examples=120)
@given(st.data())
def test_many_edits_are_the_same_as_one_after_the_other(data: st.DataObject) -> None:
    skill = data.draw(skills())
    asked = data.draw(st.lists(edits(skill), max_size=5))
    together = apply(skill, asked, EditLimits(budget=9))
    at = skill
    stages: list[Skill] = []
    for edit in asked:
        one = apply(at, [edit], EditLimits(budget=1))
        stages += one.stages
        at = one.result
    assert together.stages == tuple(stages)
    assert together.result == at


@st.composite
def folders(draw: st.DrawFn) -> Skill:
    """A skill with a linked reference and a text of any line ends, marks and endings."""
    skill = draw(skills())
    text = draw(st.sampled_from(["", "\ufeff"])) + "\n".join(draw(lines)) + draw(st.sampled_from(["", "\n"]))
    text = text.replace("\n", draw(line_ends))
    named = skill.with_text(skill.text + "\nRead references/a.md.\n")
    return named.with_file("references/a.md", text.encode()).with_file("assets/t.txt", text.encode())


@settings(max_examples=200)
@given(st.data())
def test_an_edit_of_another_file_changes_its_own_place_there_and_nothing_else(data: st.DataObject) -> None:
    skill = data.draw(folders())
    file = data.draw(st.sampled_from(["references/a.md", "assets/t.txt"]))
    before = skill.files[file].decode()
    start = data.draw(st.integers(0, len(before)))
    target = data.draw(st.one_of(st.just(before[start : start + 20]), st.sampled_from(LINES)))
    op = data.draw(st.sampled_from([Op.APPEND, Op.INSERT_AFTER, Op.REPLACE, Op.DELETE]))
    content = "" if op is Op.DELETE else data.draw(st.sampled_from([*LINES, "- new\n- rule"]))
    edit = Edit(op, target, content, file=file)
    applied = apply(skill, [edit], OPEN)
    if applied.report.rows[0].status is not EditStatus.APPLIED:
        assert applied.result == skill
        return
    after = applied.result.files[file].decode()
    assert {path for path in skill.files if skill.files[path] != applied.result.files[path]} == {file}
    assert _is_splice(before, after, edit)


@settings(max_examples=150)
@given(st.data())
def test_a_reference_and_its_link_come_and_go_together(data: st.DataObject) -> None:
    skill = data.draw(folders())
    asked = data.draw(
        st.lists(
            st.one_of(
                st.builds(
                    Edit,
                    st.just(Op.CREATE),
                    target=st.sampled_from(["", "- one", "- two"]),
                    content=st.sampled_from(["- x", "# Title\n\n- x\n", ""]),
                    file=st.sampled_from(PATHS),
                    link=st.sampled_from(["", "- read references/new.md", "- read references/a.md", *LINES]),
                ),
                st.builds(Edit, st.just(Op.REMOVE), file=st.sampled_from(PATHS), target=st.sampled_from(["", "- one"])),
                edits(skill),
            ),
            max_size=5,
        )
    )
    at = skill
    for stage in apply(skill, asked, OPEN).stages:
        assert unlinked(stage) <= unlinked(at)
        assert dead(stage) <= dead(at)
        assert _region(stage.text) == _region(at.text)
        assert frontmatter.split(stage.text).head == frontmatter.split(at.text).head
        validate(stage)
        at = stage
