"""Pieces of markdown whose text nobody can break out of, on GitHub and on GitLab.

Invariant: untrusted text comes out as prose on one line, or inside a fence that it cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skills_repo.hidden import drop_hidden
from skills_repo.message import neutral

_SIGNS = re.compile(r"[\\`*_{}\[\]()|~$^:+=]")
_CLOSING = re.compile(
    r"\b((?:clos|resolv|implement)(?:e|es|ed|ing|s)?|fix(?:es|ed|ing)?)\b(:?\s+(?:issues?\s+)?[A-Z][A-Z0-9]+)-(?=\d)",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<(?=[!?/a-zA-Z])")


def prose(text: str, longest: int) -> str:
    """Untrusted text as harmless words of at most `longest` characters before escaping.

    No mention, link, image, html, closing keyword (a tracker's `ABC-1` too), quick action or formatting is left.
    """
    text = _CLOSING.sub(r"\1\2 ", neutral(text, longest))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SIGNS.sub(r"\\\g<0>", text)
    return re.sub(r"^[-/#!.]", r"\\\g<0>", text)  # a heading, list, quick action or rule at a line's begin


def fence(text: str, language: str = "") -> str:
    """Untrusted text as a code block: its fence is longer than any run of backticks inside.

    Hidden characters go, and every tag and comment opener is broken by a blank, so that no scanner of bodies finds
    markup in it.
    """
    lines = [_COMMENT.sub("< ", drop_hidden(line)) for line in text.replace("\r\n", "\n").split("\n")]
    inside = "\n".join(lines)
    longest = max((len(run) for run in re.findall(r"`+", inside)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{inside}\n{ticks}"


def code(text: str, longest: int = 128) -> str:
    """A short name that honed made itself (an id, a branch, a digest) as inline code."""
    plain = re.sub(r"[^A-Za-z0-9 ._/+:,=()~-]", "?", drop_hidden(text))[:longest].strip()
    return f"`{plain or '?'}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells must be safe already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def details(summary: str, inside: str) -> str:
    """A collapsed part; the summary must be safe already."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"
