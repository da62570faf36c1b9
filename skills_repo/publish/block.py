"""The hidden block of a body: an html comment with JSON, for machines.

Invariant: only honed writes one. Texts of models and traces lose every `<!` before they enter a body, no line of theirs
stands at a line's begin unquoted, and the JSON itself holds neither `<` nor `>`, so it cannot end its comment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BLOCK = re.compile(r"^<!-- honed-publish (\{.*\}) -->\r?$", re.MULTILINE)
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "@": "\\u0040", "#": "\\u0023", "`": "\\u0060"}


def write_block(data: Mapping[str, Any]) -> str:
    """One line."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    for sign, escape in _ESCAPES.items():
        text = text.replace(sign, escape)
    return f"<!-- honed-publish {text} -->"


def read_block(body: str) -> dict[str, Any]:
    """The first block of a body; empty if there is none or it is not honed's."""
    found = _BLOCK.search(body)
    if found is None:
        return {}
    try:
        data = json.loads(found[1])
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def without_block(body: str) -> str:
    """The body for readers alone."""
    return _BLOCK.sub("", body, count=1).lstrip("\n")
