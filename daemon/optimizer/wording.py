"""Words with their number."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 edit`, `2 edits`; `plural` where an s does not make it."""
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"
