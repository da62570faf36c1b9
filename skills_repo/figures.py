"""A gate's figures read back from the `Honed-Gate` trailer: the inverse of what `message.compose` writes.

Anybody can write a commit message: what is no figure is left out, never guessed.
"""

from __future__ import annotations

import math
import re

from skills_repo.message import GateFigures

_COUNT = re.compile(r"(\d{1,6})x(\d{1,6})")
_NUMBER = re.compile(r"[+-]?\d{1,6}(?:\.\d{1,9})?")


def parse_gate(value: str) -> GateFigures | None:
    """The figures of one trailer; None if it names no rule."""
    words = dict(word.split("=", 1) for word in value.split() if "=" in word)
    if not words.get("rule"):
        return None
    count = _COUNT.fullmatch(words.get("n", ""))
    before, after = _score(words.get("before")), _score(words.get("after"))
    measured = before is not None and after is not None
    return GateFigures(
        rule=words["rule"],
        tasks=int(count[1]) if count else 0,
        trials=int(count[2]) if count else 1,
        before=before if measured else None,
        after=after if measured else None,
        valid=(_number(words.get("valid", "").removesuffix("%")) or 0.0) / 100,
        split=words.get("split", "selection"),
        standard_error=_number(words.get("se")),
        share=_number(words.get("share")),
    )


def _score(text: str | None) -> float | None:
    """A mean score: 0..1 (a size penalty may put it a little below 0)."""
    value = _number(text)
    return value if value is not None and -1.0 <= value <= 1.0 else None


def _number(text: str | None) -> float | None:
    value = float(text) if text and _NUMBER.fullmatch(text) else None
    return value if value is not None and math.isfinite(value) else None
