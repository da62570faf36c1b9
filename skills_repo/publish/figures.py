"""The figures of an accepted step, read back from its commits' trailers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from skills_repo.publish.facts import Figures

_WORD = re.compile(r"([a-z]+)=(\S+)")
_TASKS = re.compile(r"(\d{1,9})x(\d{1,9})")


def figures_of(trailers: Mapping[str, str]) -> Figures | None:
    """What `Honed-Gate` says; None where nothing was measured or it is not written as honed writes it."""
    words: dict[str, str] = dict(_WORD.findall(trailers.get("Honed-Gate", "")))
    tasks = _TASKS.fullmatch(words.get("n", ""))
    before, after = (_number(words.get(key, "")) for key in ("before", "after"))
    if tasks is None or before is None or after is None:
        return None
    valid = _number(words.get("valid", "").removesuffix("%"))
    return Figures(
        split=words.get("split", "selection"),
        tasks=int(tasks[1]),
        trials=int(tasks[2]),
        before=before,
        after=after,
        standard_error=_number(words.get("se", "")),
        valid=None if valid is None else valid / 100,
    )


def rule_of(trailers: Mapping[str, str]) -> str:
    """The rule that accepted it; empty if it is not told."""
    words: dict[str, str] = dict(_WORD.findall(trailers.get("Honed-Gate", "")))
    return words.get("rule", "")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
