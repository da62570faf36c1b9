"""An edit worked out again from its commit, as near as the commit tells it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_repo.edits import REFERENCE_OPS, Edit, EditLimits, Op, apply
from skills_repo.history import Author, SkillCommit
from skills_repo.log import describe
from skills_repo.recover import failures, recovered, recovered_edit
from skills_repo.skill import Skill
from tests.support.history import step_message, with_lines

START = with_lines("- one", "- two", "- three")
LIMITS = EditLimits(budget=1, also=frozenset({Op.REWRITE, Op.SLOW_UPDATE}))
WHY: dict[str, Any] = {
    "rationale": "Cells were left empty by the agent, over and over again, in every second workbook it made."
}


def commit(edit: Edit, told: tuple[str, ...] = ()) -> SkillCommit:
    return describe("a" * 40, "b" * 40, Author("h", "h"), 1.0, step_message(edit=edit, failures=told))


def after(edit: Edit, skill: Skill = START) -> str:
    applied = apply(skill, [edit], LIMITS)
    assert applied.report.applied == (edit,), applied.report
    return applied.result.text


@pytest.mark.parametrize(
    "edit",
    [
        Edit(Op.APPEND, content="- four", evidence=("t-1", "t-2"), **WHY),
        Edit(Op.APPEND, content="## More\n\n- four\n- five", support=3, **WHY),
        Edit(Op.INSERT_AFTER, "- two", "- two and a half", **WHY),
        Edit(Op.REPLACE, "- two", "- 2\n- 2b", **WHY),
        Edit(Op.DELETE, "- two", **WHY),
        Edit(Op.REWRITE, content="# New\n\n- all\n- new", **WHY),
        Edit(Op.SLOW_UPDATE, content="Take care.", **WHY),
    ],
    ids=lambda edit: f"{edit.op}-{len(edit.content)}",
)
def test_whole_lines_come_back_as_they_were(edit: Edit) -> None:
    assert recovered(commit(edit), START.text, after(edit)) == edit


def test_a_change_within_a_line_comes_back_as_the_line() -> None:
    edit = Edit(Op.REPLACE, "wo", "wenty", **WHY)
    found = recovered(commit(edit), START.text, after(edit))
    assert (found.target, found.content) == ("- two", "- twenty")


def test_line_ends_do_not_matter() -> None:
    edit = Edit(Op.APPEND, content="- four")
    crlf = START.with_text(START.text.replace("\n", "\r\n"))
    assert recovered(commit(edit), crlf.text, after(edit, crlf)).content == "- four"


def test_failures_come_back_whole() -> None:
    told = ("wrong sheet", "a failure with a very long name that has to be broken over more than one line of text", "x")
    assert failures(commit(Edit(Op.APPEND, content="- x"), told)) == told
    assert failures(commit(Edit(Op.APPEND, content="- x"))) == ()


def test_cut_evidence_is_told_without_the_count_of_the_rest() -> None:
    edit = Edit(Op.APPEND, content="- x", evidence=tuple(f"t-{number}" for number in range(30)))
    assert recovered(commit(edit), "", "").evidence == edit.evidence[:20]


def test_an_edit_of_another_file_is_read_in_that_file() -> None:
    limits = EditLimits(1, references=True, also=REFERENCE_OPS)
    path = "references/a.md"
    create = Edit(Op.CREATE, "- two", "# A\n- x\n", "r", 2, ("t-1",), path, f"- see {path}")
    made = apply(START, [create], limits).result
    assert recovered_edit(commit(create), START, made) == create
    change = Edit(Op.INSERT_AFTER, "- x", "- y", "r", file=path)
    changed = apply(made, [change], limits).result
    assert recovered_edit(commit(change), made, changed) == change
    remove = Edit(Op.REMOVE, f"- see {path}", rationale="r", file=path)
    assert recovered_edit(commit(remove), changed, apply(changed, [remove], limits).result) == remove
    assert recovered_edit(commit(change), None, None).file == path


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([*map(str, Op), "nonsense", ""]))
def test_no_text_and_no_trailer_breaks_it(before: str, now: str, op: str) -> None:
    message = f"x\n\n{before}\n\nHoned-Run: r\nHoned-Step: 1.1/1\nHoned-Op: {op}\nHoned-Evidence: {now!r}\n"
    found = recovered(describe("a" * 40, "", Author("h", "h"), 1.0, message), before, now)
    assert found.op in list(Op)
