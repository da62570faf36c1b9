from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesses.traces.text import compact_json, encodable, neutral, one_line, shorten


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7fd", "abcd"),
        ("a\u202eb\u200bc\ufeffd\u2066e", "abcde"),
        ("tag\U000e0041s", "tags"),
        ("one\r\ntwo\rthree\ttab", "one\ntwo\nthree\ttab"),
        ("plain é 𝄞", "plain é 𝄞"),
        ("\x9b31mx", "31mx"),
    ],
)
def test_terminal_control_is_neutralised(given_text: str, shown: str) -> None:
    assert neutral(given_text) == shown


@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=50))
def test_neutral_text_has_no_control_and_can_be_written(text: str) -> None:
    shown = neutral(text)
    shown.encode("utf-8")
    assert not [char for char in shown if ord(char) < 32 and char not in "\t\n"]
    assert "\x1b" not in shown


def test_lone_surrogates_become_encodable() -> None:
    assert encodable("a\ud800b").encode() == b"a?b"
    compact_json({"k": "\udfff"}).encode()


@given(st.text(max_size=300), st.integers(1, 100))
def test_shortening_keeps_both_ends(text: str, limit: int) -> None:
    short = shorten(text, limit)
    if len(text) <= limit:
        assert short == text
        return
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    assert short.startswith(text[:head])
    assert short.endswith(text[len(text) - tail :])
    assert f"{len(text) - limit} characters left out" in short


def test_one_line_is_one_bounded_line() -> None:
    line = one_line("a\n\n b\x1b[1m\tc " + "d" * 500, 20)
    assert line == "a b c dddddddddddddd…"[:19] + "…"
    assert len(line) == 20


def test_compact_json_of_odd_values() -> None:
    assert compact_json({"b": 1, "a": "é"}) == '{"b":1,"a":"é"}'
    assert compact_json({"x": object()}) == "<class 'dict'>"
