from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesses.traces.lines import LineSplitter, parse_object, read_lines, split_lines


@given(st.lists(st.binary(max_size=12)))
def test_chunking_never_changes_the_lines(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert list(split_lines(chunks)) == expected


def test_a_huge_line_is_cut_and_the_next_is_whole() -> None:
    chunks = [b'{"a":"' + b"x" * 1000] * 500 + [b'"}\n{"b":1}\n']
    lines = list(split_lines(chunks, cap=2_000))
    assert [len(line) for line in lines] == [2_000, 7]
    assert parse_object(lines[0]) is None
    assert parse_object(lines[1]) == {"b": 1}


def test_memory_stays_within_the_cap_while_no_newline_comes() -> None:
    splitter = LineSplitter(cap=100)
    for _ in range(1_000):
        assert list(splitter.feed(b"y" * 1_000)) == []
    assert len(splitter._held) == 100
    assert list(splitter.finish()) == [b"y" * 100]
    assert list(splitter.finish()) == []


def test_files_are_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"one\ntwo\nthree")
    assert list(read_lines(path)) == [b"one", b"two", b"three"]


@pytest.mark.parametrize(
    "line",
    [b"", b"garbage", b"[1]", b'"text"', b"null", b"12", b'{"a":', b"\xff\xfe{}", b'{"a": "\xff"}', b'{"a":' * 100_000],
)
def test_what_is_no_object_is_none(line: bytes) -> None:
    assert parse_object(line) is None


def test_an_endless_number_is_no_object() -> None:
    assert parse_object(b'{"a": ' + b"9" * 10_000 + b"}") is None
