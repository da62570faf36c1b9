"""Regular expressions, searched in the child that can be ended: `re` itself cannot be interrupted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any


def search(request: Mapping[str, Any], say: Callable[..., None]) -> Mapping[str, Any]:
    """`found`: group 1 (or all) of the last match of `pattern` in `text`, or None."""
    last = None
    for match in re.finditer(request["pattern"], request["text"]):
        last = match
    if last is None:
        return {"found": None}
    return {"found": (last[1] if last.re.groups else last[0]) or ""}


def matches(request: Mapping[str, Any], say: Callable[..., None]) -> Mapping[str, Any]:
    """`matched`: for each [pattern, text, whole] of `asked` whether it matches (as a whole, or anywhere)."""
    return {
        "matched": [
            (re.fullmatch if whole else re.search)(pattern, text) is not None
            for pattern, text, whole in request["asked"]
        ]
    }
