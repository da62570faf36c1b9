"""Hostile text made harmless: no lone surrogates, no terminal control, and bounded with both ends kept."""

from __future__ import annotations

import json
import re
from typing import Any

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def encodable(text: str) -> str:
    """The same text with lone surrogates (which no file or database takes) replaced by `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shorten(text: str, limit: int) -> str:
    """At most about `limit` characters: both ends, and between them how much was left out."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out} characters left out …]\n{text[len(text) - tail :] if tail else ''}"


def neutral(text: str) -> str:
    """Without terminal escapes, control characters and invisible or direction-changing ones (tab and newline stay)."""
    return _CONTROL.sub("", _ANSI.sub("", encodable(text.replace("\r\n", "\n").replace("\r", "\n"))))


def one_line(text: str, limit: int = 300) -> str:
    """Neutral text folded into one bounded line."""
    folded = " ".join(neutral(text).split())
    return folded if len(folded) <= limit else folded[: limit - 1] + "…"


def compact_json(value: Any) -> str:
    """A value as compact JSON, keys in their order; `repr` where it is no JSON."""
    try:
        return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        return encodable(repr(type(value)))
