"""What differs between two versions of a folder: by lines where that is text of a bounded size, else by size."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.diff import MAX_BYTES, MAX_LINES, NO_NEWLINE, FileDiff, diff
from skills_repo.history import FileAt

PLAIN = "100644"


def file(data: bytes, path: str = "SKILL.md", mode: str = PLAIN) -> FileAt:
    return FileAt(path, mode, data)


def only(before: list[FileAt], after: list[FileAt]) -> FileDiff:
    [found] = diff(before, after)
    return found


def test_what_is_the_same_is_not_told() -> None:
    assert diff([file(b"a"), file(b"\0", "b")], [file(b"\0", "b"), file(b"a")]) == ()


def test_a_changed_text_is_a_unified_diff() -> None:
    lines = [f"line {number}\n".encode() for number in range(9)]
    found = only([file(b"".join(lines))], [file(b"".join([*lines[:4], b"new\n", *lines[5:]]))])
    assert found.lines == (
        "@@ -2,7 +2,7 @@",
        *(f" line {number}" for number in (1, 2, 3)),
        "-line 4",
        "+new",
        *(f" line {number}" for number in (5, 6, 7)),
    )
    assert (found.change, found.kind, found.added, found.removed) == ("changed", "text", 1, 1)
    assert (found.old_size, found.new_size) == (63, 60)


def test_files_come_and_go_in_order_of_their_paths() -> None:
    found = diff([file(b"x\n", "b"), file(b"same", "m")], [file(b"same", "m"), file(b"y\n", "a/z"), file(b"", "c")])
    assert [(one.path, one.change, one.lines) for one in found] == [
        ("a/z", "added", ("@@ -0,0 +1 @@", "+y")),
        ("b", "deleted", ("@@ -1 +0,0 @@", "-x")),
        ("c", "added", ()),
    ]
    assert [(one.old_mode, one.new_mode) for one in found] == [("", PLAIN), (PLAIN, ""), ("", PLAIN)]


def test_line_ends_and_a_missing_newline_are_seen() -> None:
    assert only([file(b"a\r\n")], [file(b"a\n")]).lines == ("@@ -1 +1 @@", "-a\r", "+a")
    assert only([file(b"a")], [file(b"a\n")]).lines == ("@@ -1 +1 @@", "-a", NO_NEWLINE, "+a")
    assert only([file("a\u2028b".encode())], [file(b"a b")]).lines[1] == "-a\u2028b", "no line end of git's"


def test_a_mode_that_changes_is_a_difference() -> None:
    found = only([file(b"a\n")], [file(b"a\n", mode="100755")])
    assert (found.old_mode, found.new_mode, found.lines) == (PLAIN, "100755", ())


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89PNG\0", "binary"),
        (b"\xff\xfe", "binary"),
        (b"a" * (MAX_BYTES + 1), "large"),
        (b"\n" * (MAX_LINES + 1), "large"),
        (b"a" * MAX_BYTES, "text"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_no_short_text_is_told_by_its_size(data: bytes, kind: str, turned: bool) -> None:
    ends = [[file(data)], [file(b"text\n")]]
    found = only(*(ends[::-1] if turned else ends))
    assert found.kind == kind
    assert bool(found.lines) == (kind == "text")
    assert {found.old_size, found.new_size} == {len(data), 5}


def test_links_and_submodules_are_called_what_they_are() -> None:
    link = only([file(b"a.md", "l", "120000")], [file(b"../out", "l", "120000")])
    assert (link.kind, link.lines) == ("link", ("@@ -1 +1 @@", "-a.md", NO_NEWLINE, "+../out", NO_NEWLINE))
    module = only([], [file(b"0" * 40, "sub", "160000")])
    assert (module.kind, module.lines) == ("submodule", ())


TEXT = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "é\n"]), max_size=12).flatmap(
    lambda lines: st.sampled_from(["", "end"]).map(lambda end: "".join(lines) + end)
)


@settings(max_examples=40, deadline=None)
@given(TEXT, TEXT)
def test_the_hunks_turn_one_text_into_the_other(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    found = diff([file(old.encode())], [file(new.encode())])
    folder = Path(tmp_path_factory.mktemp("patch"))
    (folder / "f").write_bytes(old.encode())
    if found:
        patch = "--- a/f\n+++ b/f\n" + "".join(f"{line}\n" for line in found[0].lines)
        command = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "--unsafe-paths", "-"]
        subprocess.run(command, cwd=folder, input=patch.encode(), check=True, capture_output=True)
    assert (folder / "f").read_bytes() == new.encode()
