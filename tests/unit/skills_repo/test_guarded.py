"""The guarded region: found, read and written, and nothing beside it touched."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.guarded import END, START, find, read, write
from skills_repo.skill import SkillError

REGION = f"{START}\nlook twice\n\nand again\n{END}"


def test_found_by_offsets_and_read_without_markers() -> None:
    text = f"before\n{REGION}\nafter\n"
    region = find(text)
    assert region is not None
    assert text[region.start : region.end] == REGION
    assert read(text) == "look twice\n\nand again"
    assert read(text.replace("\n", "\r\n")) == "look twice\r\n\r\nand again"
    assert find("none\n") is None
    assert read("none\n") == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\n{START}\n", 2),
        (f"{END}\n", 1),
        (f"{END}\n{START}\n", 1),
        (f"{REGION}\n{REGION}\n", 1),
        (f"{START}\n{START}\n{END}\n", 1),
        (f"a {START}\n{END}\n", 1),
        (f"a\n{START} b\n{END}\n", 2),
        (f"{START}\nx {END}\n", 1),
        (f"{START}{END}\n", 1),
    ],
)
def test_markers_that_are_not_well_formed_are_refused(text: str, line: int) -> None:
    with pytest.raises(SkillError, match="keep one line") as raised:
        find(text)
    assert raised.value.line == line


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a\n", f"a\n\n{START}\nnew\n{END}\n"),
        ("a", f"a\n\n{START}\nnew\n{END}\n"),
        ("", f"{START}\nnew\n{END}\n"),
        ("a\r\n", f"a\r\n\r\n{START}\r\nnew\r\n{END}\r\n"),
        (f"a\n{REGION}\nb\n", f"a\n{START}\nnew\n{END}\nb\n"),
        (f"{REGION}", f"{START}\nnew\n{END}"),
    ],
)
def test_writing_replaces_or_makes_the_region(text: str, after: str) -> None:
    assert write(text, "\nnew\n") == after
    assert read(after).strip() == "new"


def test_writing_nothing_leaves_an_empty_region() -> None:
    assert write(f"a\n{REGION}\n", "") == f"a\n{START}\n{END}\n"
    assert read(write("a\n", "")) == ""


@pytest.mark.parametrize("content", [f"x {END}", "<!-- Honed:slow-update:START -->", "a\u202eb"])
def test_the_slow_update_cannot_break_out(content: str) -> None:
    with pytest.raises(SkillError, match="the slow update carries"):
        write("a\n", content)


@settings(max_examples=120)
@given(
    st.text(alphabet="ab \n", max_size=12),
    st.text(alphabet="ab \n", max_size=12),
    st.text(alphabet="xy -\n", max_size=12),
)
def test_only_the_region_changes(before: str, after: str, content: str) -> None:
    start = before + "\n" if before and not before.endswith("\n") else before
    text = f"{start}{REGION}\n{after}"
    new = write(text, content)
    assert new.startswith(start + START)
    assert new.endswith(f"{END}\n{after}")
    assert read(new) == content.strip("\n")
    assert write(new, content) == new
