"""Three versions of a folder into one: file by file, text by git, and by its own text where git sees a conflict."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.merging import MAX_BYTES, merge


def text(base: str, ours: str, theirs: str) -> str | None:
    """One text merged; None for a conflict."""
    merged = merge(*[{"f": one.encode()} for one in (base, ours, theirs)])
    assert list(merged.files) == ["f"]
    if merged.conflicts:
        assert merged.conflicts == ("f",)
        assert merged.files["f"] == ours.encode(), "a conflict leaves what there is"
        return None
    return merged.files["f"].decode()


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        (b"1", b"1", b"2", b"2"),
        (b"1", b"2", b"1", b"2"),
        (b"1", b"2", b"2", b"2"),
        (None, None, b"2", b"2"),
        (None, b"2", None, b"2"),
        (b"1", b"1", None, None),
        (b"1", None, b"1", None),
        (b"1", None, None, None),
        (None, b"2", b"2", b"2"),
    ],
)
def test_what_one_side_left_alone_is_the_other_sides(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, result: bytes | None
) -> None:
    merged = merge(*[{} if one is None else {"f": one} for one in (base, ours, theirs)])
    assert merged.conflicts == ()
    assert merged.files.get("f") == result


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        (b"1\n", b"2\n", b"3\n"),
        (b"1\n", None, b"3\n"),
        (b"1\n", b"2\n", None),
        (None, b"2\n", b"3\n"),
        (b"1\0\n", b"2\0\n", b"3\0\n"),
        (b"1\0\na\nb\nc\n", b"1\0\na\nb\nd\n", b"2\0\na\nb\nc\n"),
    ],
)
def test_what_both_changed_is_a_conflict(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> None:
    versions = [{"z": b"same"} | ({} if one is None else {"f": one}) for one in (base, ours, theirs)]
    merged = merge(*versions)
    assert merged.conflicts == ("f",)
    assert dict(merged.files) == versions[1]


def test_changes_far_apart_are_merged_by_git() -> None:
    lines = [f"{number}\n" for number in range(12)]
    ours = "".join(["new first\n", *lines])
    theirs = "".join([*lines[:-1], "last, changed\n"])
    assert text("".join(lines), ours, theirs) == "new first\n" + "".join(lines[:-1]) + "last, changed\n"


@pytest.mark.parametrize(
    ("with_edit", "now", "without", "result"),
    [
        # one of two rules below each other
        ("a\nx\n", "a\nx\ny\n", "a\n", "a\ny\n"),
        ("a\nx\n", "a\ny\nx\n", "a\n", "a\ny\n"),
        ("a\nx", "a\nx\r\ny\r\n", "a", None),
        # a rule that was replaced, between neighbours that are new
        ("a\nnew\nb\n", "p\nnew\nq\n", "a\nold\nb\n", "p\nold\nq\n"),
        # a rule that was deleted comes back between the neighbours that it had
        ("a\nb\n", "z\na\nb\ny\n", "a\nold\nb\n", "z\na\nold\nb\ny\n"),
        ("a\nb\n", "a\nbetween\nb\n", "a\nold\nb\n", None),
        # not certain
        ("a\nx\n", "a\nx\ny\nx\n", "a\n", None),
        ("a\nx\n", "a\nX\ny\n", "a\n", None),
        ("a\n\nb\n", "a\n\nc\n", "a\nb\n", None),
        ("a\nx\ny\n", "a\nx\nbetween\ny\n", "a\n", None),
    ],
)
def test_a_change_is_looked_for_by_its_own_text(with_edit: str, now: str, without: str, result: str | None) -> None:
    assert text(with_edit, now, without) == result


def test_line_ends_and_bytes_beside_the_change_stay() -> None:
    base = "\ufeffa\r\nx\r\nb\u2028c"
    assert text(base, base.replace("x\r\n", "x\r\ny\r\n"), base.replace("x\r\n", "")) == base.replace("x", "y")


def test_a_huge_text_is_left_to_git() -> None:
    filler = "f\n" * MAX_BYTES
    assert text(f"{filler}x\n", f"{filler}x\ny\n", filler) is None


LINES = st.lists(st.sampled_from([f"{letter}\n" for letter in "abcdefgh"]), max_size=8, unique=True)


@settings(max_examples=60, deadline=None)
@given(LINES, st.integers(0, 8), st.sampled_from(["rule\n", "rule\nmore\n"]), LINES)
def test_adding_a_text_and_taking_it_back_leaves_what_came_in_between(
    lines: list[str], at: int, rule: str, tail: list[str]
) -> None:
    with_rule = "".join([*lines[:at], rule, *lines[at:]])
    later = "".join(f"later {line}" for line in tail)
    assert text(with_rule, with_rule + later, "".join(lines)) == "".join(lines) + later
