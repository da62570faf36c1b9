"""What counts as hidden."""

from __future__ import annotations

import pytest

from skills_repo.hidden import drop_hidden, find_hidden, is_hidden

HIDDEN = [
    "\x00", "\x08", "\x1b", "\x7f", "\x80", "\x9f", "\xad", "\u034f", "\u061c", "\u115f", "\u180e", "\u200b", "\u200d",
    "\u200e", "\u2028", "\u2029", "\u202a", "\u202e", "\u2060", "\u2064", "\u2066", "\u2069", "\u206f", "\u2800",
    "\u3164", "\ufe00", "\ufeff", "\uffa0", "\ufff9", "\uffff", "\ue000", "\ud800", "\U000e0001", "\U000e0041",
    "\U000e007f", "\U000e0100", "\U0001d173", "\r", "\x0b", "\x0c", "\x85",
    "\u2065", "\ufdd0", "\ufdef", "\ufff0", "\ufffe", "\U0001fffe", "\U0010ffff", "\U000e0fff",
]  # fmt: skip
SEEN = [
    "\n",
    "\t",
    " ",
    "a",
    "\u00e9",
    "\u0301",
    "\u0639",
    "\u4e2d",
    "\u2192",
    "\u2014",
    "\u00a0",
    "\ufe0f",
    "\ufffd",
    "\ufdf0",
    "\U0001f600",
]


@pytest.mark.parametrize("char", HIDDEN)
def test_hidden_characters_are_found_and_dropped(char: str) -> None:
    assert is_hidden(char)
    assert find_hidden(f"a\n\u00e9{char}b") == (2, f"U+{ord(char):04X}")
    assert drop_hidden(f"a{char}b") == "ab"


@pytest.mark.parametrize("char", SEEN)
def test_ordinary_characters_are_not(char: str) -> None:
    assert not is_hidden(char)
    assert find_hidden(f"a{char}b") is None
    assert drop_hidden(char) == char


def test_crlf_is_a_line_end_but_a_lone_return_is_hidden() -> None:
    assert find_hidden("a\r\nb\r\n") is None
    assert find_hidden("a\r\nb\rc") == (2, "U+000D")
