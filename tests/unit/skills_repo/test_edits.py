"""Bounded edits, case by case: where each op lands, and every way to be refused."""

from __future__ import annotations

from typing import Any

import pytest

from skills_repo import guarded
from skills_repo.edits import MAX_EDITS, Applied, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.skill import Skill
from tests.support.skills import a_skill, skill_text

LIMITS = EditLimits(budget=8)
REGION = f"{guarded.START}\nlook twice\n{guarded.END}\n"
BODY = "\n# Rules\n\n- one\n  - deep\n- two\n"


def _apply(body: str, *edits: Any, limits: EditLimits = LIMITS) -> Applied:
    return apply(a_skill(body), edits, limits)


def _body(applied: Applied) -> str:
    head = skill_text("")
    assert applied.result.text.startswith(head)
    return applied.result.text.removeprefix(head)


def _only(applied: Applied) -> tuple[EditStatus, str]:
    (row,) = applied.report.rows
    return row.status, row.detail


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Edit(Op.REPLACE, "- two", "- three"), "\n# Rules\n\n- one\n  - deep\n- three\n"),
        (Edit(Op.REPLACE, "one\n  - deep\n", "1\n"), "\n# Rules\n\n- 1\n- two\n"),
        (Edit(Op.REPLACE, "- two", ""), "\n# Rules\n\n- one\n  - deep\n\n"),
        (Edit(Op.REPLACE, "  - deep", "    - deeper  "), "\n# Rules\n\n- one\n    - deeper  \n- two\n"),
        (Edit(Op.DELETE, "  - deep\n"), "\n# Rules\n\n- one\n- two\n"),
        (Edit(Op.INSERT_AFTER, "- one", "  - new"), "\n# Rules\n\n- one\n  - new\n  - deep\n- two\n"),
        (Edit(Op.INSERT_AFTER, "on", "  - new\n"), "\n# Rules\n\n- one\n  - new\n  - deep\n- two\n"),
        (Edit(Op.INSERT_AFTER, "# Rules\n", "x"), "\n# Rules\nx\n\n- one\n  - deep\n- two\n"),
        (Edit(Op.INSERT_AFTER, "one\n  - d", "x\n\ny"), "\n# Rules\n\n- one\n  - deep\nx\n\ny\n- two\n"),
        (Edit(Op.INSERT_AFTER, "- two", "\n## More\n\n"), "\n# Rules\n\n- one\n  - deep\n- two\n\n## More\n\n"),
        (Edit(Op.APPEND, content="- new"), BODY + "\n- new\n"),
        (Edit(Op.APPEND, content="\n \n    indented\n\n"), BODY + "\n    indented\n"),
        (Edit(Op.APPEND, "ignored", "- new\n"), BODY + "\n- new\n"),
    ],
)
def test_where_each_op_lands(edit: Edit, after: str) -> None:
    applied = _apply(BODY, edit)
    assert _only(applied) == (EditStatus.APPLIED, "")
    assert _body(applied) == after
    assert applied.report.applied == (edit,)
    assert applied.stages == (applied.result,)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("", "\n- new\n"),
        ("\n", "\n- new\n"),
        ("text", "text\n\n- new\n"),
        ("text\n", "text\n\n- new\n"),
        ("text\n\n", "text\n\n- new\n"),
        ("text\n\n\n", "text\n\n\n- new\n"),
        ("text\n  \n", "text\n  \n- new\n"),
        (f"text\n\n{REGION}", f"text\n\n- new\n\n{REGION}"),
        (f"text\n{REGION}\n\n", f"text\n\n- new\n\n{REGION}\n\n"),
        (REGION, f"\n- new\n\n{REGION}"),
        (f"{REGION}\ntext\n", f"{REGION}\ntext\n\n- new\n"),
    ],
)
def test_append_keeps_one_blank_line_and_stays_before_a_last_region(body: str, after: str) -> None:
    assert _body(_apply(body, Edit(Op.APPEND, content="- new"))) == after


def test_appending_right_after_unended_frontmatter_starts_a_body() -> None:
    skill = Skill("xlsx", {"SKILL.md": skill_text("").rstrip("\n").encode()})
    assert apply(skill, [Edit(Op.APPEND, content="x")], LIMITS).result.text == skill_text("\nx\n")


def test_inserting_after_the_last_line_without_line_end_adds_one() -> None:
    assert _body(_apply("- one", Edit(Op.INSERT_AFTER, "one", "- two"))) == "- one\n- two\n"


def test_crlf_files_keep_their_bytes_and_new_lines_follow_them() -> None:
    body = "\r\n# Rules\r\n\r\n- one\r\n- two\r\nlast\n"
    skill = Skill("xlsx", {"SKILL.md": (skill_text("").replace("\n", "\r\n") + body).encode()})
    edits = [
        Edit(Op.REPLACE, "# Rules\n\n- one\n", "# Rules\n- 1\n"),
        Edit(Op.INSERT_AFTER, "- two", "- three\r\n- four"),
        Edit(Op.APPEND, content="end"),
    ]
    applied = apply(skill, edits, LIMITS)
    assert [row.status for row in applied.report.rows] == [EditStatus.APPLIED] * 3
    head = skill_text("").replace("\n", "\r\n")
    assert applied.result.text == head + "\r\n# Rules\r\n- 1\r\n- two\r\n- three\r\n- four\r\nlast\n\r\nend\r\n"


def test_one_crlf_in_an_lf_file_does_not_spread() -> None:
    assert _body(_apply("a\r\nb\nc\n", Edit(Op.INSERT_AFTER, "a\nb", "x"))) == "a\r\nb\nx\nc\n"


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (Edit(Op.REPLACE, "- three", "x"), EditStatus.TARGET_MISSING),
        (Edit(Op.REPLACE, "- One", "x"), EditStatus.TARGET_MISSING),
        (Edit(Op.DELETE, "-"), EditStatus.TARGET_AMBIGUOUS),
        (Edit(Op.INSERT_AFTER, "e", "x"), EditStatus.TARGET_AMBIGUOUS),
        (Edit(Op.REPLACE, "name: xlsx", "name: x"), EditStatus.TOUCHES_FRONTMATTER),
        (Edit(Op.REPLACE, "---\n\n# Rules", "x"), EditStatus.TOUCHES_FRONTMATTER),
        (Edit(Op.DELETE, '"Fix spreadsheets"\n---\n'), EditStatus.TOUCHES_FRONTMATTER),
        (Edit(Op.INSERT_AFTER, "description", "x: y"), EditStatus.TOUCHES_FRONTMATTER),
        (Edit(Op.DELETE, "look twice"), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.DELETE, f"- two\n{REGION}"), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.REPLACE, "- two\n<!", "x"), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.REPLACE, "-->\n\ntail", "x"), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.APPEND, content=REGION), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.REPLACE, "tail", "<!-- HONED:Slow-Update:end -->"), EditStatus.TOUCHES_GUARDED),
        (Edit(Op.REPLACE, "tail", "tail"), EditStatus.NO_CHANGE),
        (Edit(Op.REWRITE, content="# All new"), EditStatus.NOT_ALLOWED),
        (Edit(Op.SLOW_UPDATE, content="look thrice"), EditStatus.NOT_ALLOWED),
        (Edit(Op.REPLACE, "- two\n", "- two"), EditStatus.INVALID_RESULT),
        (Edit(Op.APPEND, content="x" * 4001), EditStatus.TOO_LARGE),
        (Edit(Op.APPEND, content="a\u200bb"), EditStatus.HIDDEN_CHARACTERS),
        (Edit(Op.APPEND), EditStatus.MALFORMED),
        (Edit(Op.APPEND, content=" \n"), EditStatus.MALFORMED),
        (Edit(Op.INSERT_AFTER, "", "x"), EditStatus.MALFORMED),
        (Edit(Op.INSERT_AFTER, "tail", ""), EditStatus.MALFORMED),
        (Edit(Op.REPLACE, "\n", "x"), EditStatus.MALFORMED),
        (Edit(Op.DELETE, "tail", "x"), EditStatus.MALFORMED),
    ],
)
def test_what_is_refused_changes_nothing(edit: Edit, status: EditStatus) -> None:
    body = f"{BODY}{REGION}\ntail\n"
    applied = _apply(body, edit)
    assert _only(applied)[0] is status
    assert _body(applied) == body
    assert applied.stages == ()
    assert applied.report.applied == ()


@pytest.mark.parametrize("content", ["\u202eevil", "a\u2066b", "a\U000e0041b", "\x1b[31m", "a\x85b", "a\rb", "\ufeffa"])
def test_hidden_characters_are_named(content: str) -> None:
    status, detail = _only(_apply(BODY, Edit(Op.REPLACE, "two", f"x\n{content}")))
    assert status is EditStatus.HIDDEN_CHARACTERS
    assert detail.endswith("in line 2 of the content")
    assert detail.startswith("U+")


@pytest.mark.parametrize(
    "content", ["\u26a0\ufe0f caf\u00e9", "\u0928\u092e\u0938\u094d\u0924\u0947", "a\tb", "\U0001f600"]
)
def test_plain_writing_of_any_script_passes(content: str) -> None:
    assert _only(_apply(BODY, Edit(Op.APPEND, content=content)))[0] is EditStatus.APPLIED


@pytest.mark.parametrize(
    "edit",
    [
        Edit(None),  # type: ignore[arg-type]
        Edit("rename", "two", "x"),  # type: ignore[arg-type]
        Edit(Op.REPLACE, None, "x"),  # type: ignore[arg-type]
        Edit(Op.REPLACE, "two", None),  # type: ignore[arg-type]
        Edit(Op.REPLACE, ["two"], "x"),  # type: ignore[arg-type]
        Edit(Op.APPEND, content=b"x"),  # type: ignore[arg-type]
        Edit(Op.APPEND, content="x", rationale=None),  # type: ignore[arg-type]
        Edit(Op.APPEND, content="x", evidence=None),  # type: ignore[arg-type]
        Edit(Op.APPEND, content="x", evidence=("t-1", 2)),  # type: ignore[arg-type]
        Edit(Op.APPEND, content="x", support="3"),  # type: ignore[arg-type]
        Edit([], "two", "x"),  # type: ignore[arg-type]
        None,
        {"op": "append", "content": "x"},
        3,
    ],
)
def test_what_is_no_edit_is_malformed_and_the_next_one_still_counts(edit: Any) -> None:
    good = Edit(Op.APPEND, content="- new")
    applied = _apply(BODY, edit, good)
    assert [row.status for row in applied.report.rows] == [EditStatus.MALFORMED, EditStatus.APPLIED]
    assert applied.report.applied == (good,)


def test_ops_may_be_plain_text_as_a_reply_has_them() -> None:
    assert _only(_apply(BODY, Edit("delete", "- two\n")))[0] is EditStatus.APPLIED  # type: ignore[arg-type]


def test_a_target_in_the_frontmatter_too_is_still_unique_in_the_body() -> None:
    assert _body(_apply("\nuse xlsx\n", Edit(Op.REPLACE, "xlsx", "it"))) == "\nuse it\n"


def test_overlapping_occurrences_are_ambiguous() -> None:
    assert _only(_apply("\naaa\n", Edit(Op.REPLACE, "aa", "b")))[0] is EditStatus.TARGET_AMBIGUOUS


def test_the_budget_counts_applied_edits_in_order() -> None:
    edits = [
        Edit(Op.DELETE, "nowhere"),
        Edit(Op.APPEND, content="- a"),
        Edit(Op.APPEND, content="- b"),
        Edit(Op.APPEND, content="- c"),
    ]
    applied = _apply(BODY, *edits, limits=EditLimits(budget=2))
    missing, done, over = EditStatus.TARGET_MISSING, EditStatus.APPLIED, EditStatus.OVER_BUDGET
    assert [row.status for row in applied.report.rows] == [missing, done, done, over]
    assert applied.report.rows[3].detail == "the budget is 2"
    assert _body(applied) == BODY + "\n- a\n\n- b\n"


@pytest.mark.parametrize("budget", [0, -1])
def test_no_budget_allows_nothing(budget: int) -> None:
    assert _only(_apply(BODY, Edit(Op.APPEND, content="x"), limits=EditLimits(budget)))[0] is EditStatus.OVER_BUDGET


def test_each_edit_sees_what_the_one_before_left_and_each_stage_is_kept() -> None:
    applied = _apply(
        BODY, Edit(Op.APPEND, content="- new"), Edit(Op.REPLACE, "- new", "- newer"), Edit(Op.DELETE, "- two\n")
    )
    assert [stage.text.count("- new") for stage in applied.stages] == [1, 1, 1]
    assert "- newer" not in applied.stages[0].text
    assert "- two" in applied.stages[1].text
    assert applied.result == applied.stages[-1]


def test_an_edit_that_spoils_the_file_is_rolled_back_alone() -> None:
    body = f"{BODY}{REGION}"
    spoil = Edit(Op.REPLACE, "- two\n", "- two ")
    applied = _apply(body, Edit(Op.REPLACE, "one", "1"), spoil, Edit(Op.REPLACE, "deep", "d"))
    assert [row.status for row in applied.report.rows] == [
        EditStatus.APPLIED,
        EditStatus.INVALID_RESULT,
        EditStatus.APPLIED,
    ]
    assert "not alone on its line" in applied.report.rows[1].detail
    assert _body(applied) == body.replace("- one", "- 1").replace("deep", "d")


def test_a_marker_cannot_be_put_together_from_halves() -> None:
    body = "\n<!-- honed:slow-SPLITupdate:start -->\n\n<!-- honed:slow-SPLIT2update:end -->\n"
    applied = _apply(body, Edit(Op.DELETE, "SPLIT2"), Edit(Op.DELETE, "SPLIT"))
    assert {row.status for row in applied.report.rows} <= {EditStatus.INVALID_RESULT, EditStatus.TARGET_AMBIGUOUS}
    assert _body(applied) == body


def test_the_size_cap_is_of_the_whole_file_but_an_oversized_one_may_shrink() -> None:
    limits = EditLimits(budget=4, max_skill_chars=len(skill_text(BODY)) + 10)
    applied = _apply(BODY, Edit(Op.APPEND, content="x" * 9), Edit(Op.APPEND, content="x" * 8), limits=limits)
    assert [row.status for row in applied.report.rows] == [EditStatus.TOO_LARGE, EditStatus.APPLIED]
    tight = EditLimits(budget=4, max_skill_chars=10)
    same, less = Edit(Op.REPLACE, "two", "2wo"), Edit(Op.DELETE, "- two\n")
    assert [row.status for row in _apply(BODY, same, less, limits=tight).report.rows] == [
        EditStatus.TOO_LARGE,
        EditStatus.APPLIED,
    ]


@pytest.mark.parametrize("data", [b"no frontmatter\n", b"\xff\xfe", b""])
def test_a_skill_that_is_itself_broken_takes_no_edit(data: bytes) -> None:
    skill = Skill("xlsx", {"SKILL.md": data})
    applied = apply(skill, [Edit(Op.APPEND, content="x")], LIMITS)
    assert applied.report.rows[0].status is EditStatus.INVALID_RESULT
    assert applied.result is skill


def test_other_files_stay() -> None:
    applied = apply(a_skill(BODY, run_py=b"\xff"), [Edit(Op.APPEND, content="x")], LIMITS)
    assert applied.result.files["run_py"] == b"\xff"
    assert list(applied.result.files) == ["SKILL.md", "run_py"]


def test_every_status_is_explained_in_one_sentence() -> None:
    explained = [status.explanation for status in EditStatus]
    assert all(text.endswith(".") and text.count(". ") == 0 for text in explained)
    assert len(set(explained)) == len(explained)


def test_a_row_gives_its_reason_in_one_line() -> None:
    rows = _apply(BODY, Edit(Op.DELETE, "nowhere"), Edit(Op.APPEND, content="x" * 4001)).report.rows
    assert [row.reason for row in rows] == ["target_missing", "too_large: 4001 of 4000 characters for one edit"]


def test_without_a_budget_a_flood_of_edits_is_bounded() -> None:
    edits = [Edit(Op.APPEND, content=f"- {i}") for i in range(100)]
    applied = _apply(BODY, *edits, limits=EditLimits(budget=None))
    assert len(applied.stages) == MAX_EDITS
    assert applied.report.rows[MAX_EDITS].detail == f"the budget is {MAX_EDITS}"


@pytest.mark.parametrize(
    "content", ["---\nname: x\ndescription: y\n---\n# x", "<think>so</think>- rule", "- a</think>"]
)
def test_no_edit_brings_frontmatter_or_a_thinking_block(content: str) -> None:
    refused = {EditStatus.TOUCHES_FRONTMATTER, EditStatus.MALFORMED}
    assert _only(_apply(BODY, Edit(Op.APPEND, content=content)))[0] in refused
    assert _only(_apply(BODY, Edit(Op.REPLACE, "- two", content)))[0] in refused
