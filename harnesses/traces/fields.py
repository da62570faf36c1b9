"""Reading fields of untyped JSON: a missing field or one of the wrong type is the empty value, never an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harnesses.traces.text import encodable

_MOST = 1 << 53


def text_of(value: Mapping[str, Any], key: str) -> str:
    """A string field, made encodable; else the empty string."""
    found = value.get(key)
    return encodable(found) if isinstance(found, str) else ""


def int_of(value: Mapping[str, Any], key: str) -> int:
    """A non-negative whole number (below 2^53); else 0. A bool is not a number."""
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _MOST:
        return 0
    return found


def dict_of(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    """An object field; else an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def dicts_of(value: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects in a list field; else an empty list."""
    found = value.get(key)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def texts_of(value: Mapping[str, Any], key: str) -> list[str]:
    """The strings in a list field; else an empty list."""
    found = value.get(key)
    return [encodable(item) for item in found if isinstance(item, str)] if isinstance(found, list) else []


def content_text(content: object) -> str:
    """The text of a message's content: a string, or a list of blocks with a `text` (or nested `content`)."""
    if isinstance(content, str):
        return encodable(content)
    if not isinstance(content, list):
        return ""
    parts = [text_of(block, "text") for block in content if isinstance(block, dict)]
    return "\n".join(part for part in parts if part)
