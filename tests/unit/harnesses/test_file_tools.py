"""List, read and search: what a model is told, and that nothing it passes gets further than the files it was given."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from harnesses.episode import ToolResult
from harnesses.file_tools import (
    FOUND,
    FOUND_CHARS,
    LISTED,
    QUERY_CHARS,
    READ_CHARS,
    SEARCHED_BYTES,
    TOOLS,
    use_files,
)

REPORT = "Receipts\n| year | gross |\n| 1951 | 5,506 |\n| 1952 | 6,001 |\n"
FILES: Mapping[str, bytes] = {
    "report.txt": REPORT.encode(),
    "deep/notes.md": "\ufeffGrüße aus 1951\n".encode(),
    "book.xlsx": b"PK\x03\x04\0\0",
    "latin.txt": b"caf\xe9",
}


def use(tool: str, files: Mapping[str, bytes] = FILES, **arguments: Any) -> ToolResult:
    return use_files(files, tool, arguments)


def test_files_are_listed_with_their_sizes_and_of_very_many_the_first() -> None:
    assert use("list_files").text.splitlines() == [
        "book.xlsx (6 bytes)",
        "deep/notes.md (20 bytes)",
        "latin.txt (4 bytes)",
        f"report.txt ({len(REPORT)} bytes)",
    ]
    assert use("list_files", {}).text == "there are no files"
    many = use("list_files", {f"{number:05}.txt": b"" for number in range(5_000)})
    assert many.text.splitlines()[-1] == "and 4800 more"
    assert len(many.text.splitlines()) == LISTED + 1


def test_a_file_is_read_by_parts() -> None:
    assert use("read_file", path="report.txt").text == (
        f"report.txt, characters 0 to {len(REPORT)} of {len(REPORT)}:\n{REPORT}"
    )
    assert use("read_file", path="report.txt", offset=9, length=6).text.endswith(":\n| year")
    assert use("read_file", path="report.txt", offset=9.0, length=None).ok
    assert use("read_file", path="./deep//notes.md").text.endswith(":\nGrüße aus 1951\n")
    assert use("read_file", {"none.txt": b""}, path="none.txt").text == "none.txt, characters 0 to 0 of 0:\n"


def test_no_answer_is_longer_than_its_bound() -> None:
    files = {"long.txt": b"x" * 3_000_000, "lines.txt": b"needle in a line\n" * 100_000}
    for length in (0, 10**9, None):
        read = use("read_file", files, path="long.txt", length=length)
        assert READ_CHARS < len(read.text) < READ_CHARS + 100
    found = use("search_text", files, query="NEEDLE")
    assert found.text.splitlines()[-1] == f"there are more: only the first {FOUND} are shown"
    long_line = use("search_text", {"a.txt": b"y" * 9_000 + b"needle" + b"z" * 9_000}, query="needle")
    assert "needle" in long_line.text
    assert len(long_line.text) < FOUND_CHARS + 50


def test_a_search_leads_to_the_place() -> None:
    found = use("search_text", query="| 1951")
    offset = REPORT.index("| 1951")
    assert found.text == f"report.txt, offset {offset}: | 1951 | 5,506 |"
    assert use("read_file", path="report.txt", offset=offset, length=16).text.endswith(":\n| 1951 | 5,506 |"[:18])
    both = use("search_text", query="1951").text
    assert [line.partition(",")[0] for line in both.splitlines()] == ["deep/notes.md", "report.txt"]
    assert use("search_text", query="1951", path="report.txt").text.startswith("report.txt")
    assert use("search_text", query="GRÜSSE AUS").text == "'GRÜSSE AUS' is in no text file"
    assert "Grüße" in use("search_text", query="GRÜßE").text
    assert use("search_text", {"a.txt": "\u0130\u0130 x".encode()}, query="X").text.startswith("a.txt, offset 3: ")
    assert use("search_text", query=".*").text == "'.*' is in no text file", "a text, not a pattern"


HOSTILE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "up": ("read_file", {"path": "../../etc/passwd"}),
    "up from inside": ("read_file", {"path": "deep/../../etc/passwd"}),
    "up and back": ("read_file", {"path": "deep/../report.txt"}),
    "absolute": ("read_file", {"path": "/etc/passwd"}),
    "proc": ("read_file", {"path": "/proc/self/environ"}),
    "NUL": ("read_file", {"path": "report.txt\0.png"}),
    "empty": ("read_file", {"path": ""}),
    "blank": ("read_file", {"path": " \n"}),
    "folder": ("read_file", {"path": "deep"}),
    "dot": ("read_file", {"path": "."}),
    "huge path": ("read_file", {"path": "a/" * 500_000}),
    "surrogate": ("read_file", {"path": "\ud800.txt"}),
    "escape": ("read_file", {"path": "\x1b[2J\u202e.txt"}),
    "no path": ("read_file", {}),
    "number as path": ("read_file", {"path": 5}),
    "list as path": ("read_file", {"path": ["report.txt"]}),
    "object as path": ("read_file", {"path": {"a": "b"}}),
    "bytes": ("read_file", {"path": b"report.txt"}),
    "binary": ("read_file", {"path": "book.xlsx"}),
    "not utf-8": ("read_file", {"path": "latin.txt"}),
    "negative": ("read_file", {"path": "report.txt", "offset": -1}),
    "behind the end": ("read_file", {"path": "report.txt", "offset": 10**400}),
    "text as number": ("read_file", {"path": "report.txt", "offset": "0"}),
    "truth as number": ("read_file", {"path": "report.txt", "offset": True}),
    "half": ("read_file", {"path": "report.txt", "length": 0.5}),
    "infinity": ("read_file", {"path": "report.txt", "length": float("inf")}),
    "not a number": ("read_file", {"path": "report.txt", "offset": float("nan")}),
    "no query": ("search_text", {}),
    "empty query": ("search_text", {"query": ""}),
    "list as query": ("search_text", {"query": ["1951"]}),
    "huge query": ("search_text", {"query": "a" * (QUERY_CHARS + 1)}),
    "search outside": ("search_text", {"query": "root", "path": "/etc/passwd"}),
    "search in a binary": ("search_text", {"query": "PK", "path": "book.xlsx"}),
    "another tool": ("run_shell", {"command": "id"}),
    "nameless tool": ("", {}),
    "odd tool": ("\ud800\0" * 1_000, {}),
}


@pytest.mark.parametrize("odd", list(HOSTILE))
def test_a_call_that_cannot_be_made_is_answered_in_words(odd: str) -> None:
    tool, arguments = HOSTILE[odd]
    said = use_files(FILES, tool, arguments)
    assert not said.ok
    assert 0 < len(said.text) < 300
    said.text.encode()
    assert "root:" not in said.text


def test_a_search_takes_time_in_proportion_to_the_text() -> None:
    files = {"a.txt": b"a" * 8_000_000, "b.txt": ("ab" * 4_000_000).encode()}
    began = time.process_time()
    assert "is in no" in use("search_text", files, query="a" * (QUERY_CHARS - 1) + "b").text
    assert "is in no" in use("search_text", files, query="(a+)+$").text
    assert time.process_time() - began < 20, "hours, if it were not"


def test_what_is_too_much_to_search_is_left_alone() -> None:
    class Huge(bytes):
        def __len__(self) -> int:
            return SEARCHED_BYTES + 1

    assert "is in no text file" in use("search_text", {"a.txt": Huge(b"needle")}, query="needle").text


def test_the_tools_are_few_and_well_named() -> None:
    assert [tool.name for tool in TOOLS] == ["list_files", "read_file", "search_text"]
    assert all(tool.description and set(tool.parameters) <= {"type", "properties", "required"} for tool in TOOLS)
