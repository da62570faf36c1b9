"""Pieces of markdown whose text nobody can break out of, on GitHub and on GitLab.

Invariant: untrusted text comes out as prose on one line, or inside a fence that it cannot close.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from skills_repo.hidden import drop_hidden
from skills_repo.message import KEYWORD, neutral

_SIGNS = re.compile(r"[\\`*_{}\[\]()|~$^:+=]")
_CLOSES = re.compile(KEYWORD, re.IGNORECASE)
_REFERENCE = re.compile(r"(#|!|/(?:issues|merge_requests|pull|work_items)/|\b[A-Z][A-Z0-9_]+-)(?=\d)")
_BEGIN = re.compile(r"^(?=[/`~])")
_COMMENT = re.compile(r"<(?=[!?/a-zA-Z])")


def prose(text: str, longest: int) -> str:
    """Untrusted text as harmless words of at most `longest` characters before escaping.

    No mention, link, image, html, closing keyword (a tracker's `ABC-1` too), quick action or formatting is left.
    """
    text = neutral(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SIGNS.sub(r"\\\g<0>", text)
    return re.sub(r"^[-/#!.]", r"\\\g<0>", text)  # a heading, list, quick action or rule at a line's begin


def fence(text: str, language: str = "") -> str:
    """Untrusted text as a code block: its fence is longer than any run of backticks inside.

    Forges also scan bodies as plain text, for quick actions and for issues to close. So hidden characters go, every
    tag and comment opener is broken by a blank, as is what follows a closing keyword; no line begins like a fence or a
    quick action.
    """
    inside = "\n".join(_inside(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    longest = max((len(run) for run in re.findall(r"`+", inside)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{inside}\n{ticks}"


def _inside(line: str) -> str:
    line = _BEGIN.sub(" ", _COMMENT.sub("< ", drop_hidden(line)))
    return _REFERENCE.sub(r"\1 ", line) if _CLOSES.search(line) else line


def code(text: str, longest: int = 128) -> str:
    """A short name that honed made itself (an id, a branch, a digest) as inline code."""
    plain = re.sub(r"[^A-Za-z0-9 ._/+:,=()~-]", "?", drop_hidden(text))[:longest].strip()
    plain = neutral(plain, longest) if _CLOSES.search(plain) else plain  # a person may have written a trailer
    return f"`{plain or '?'}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells must be safe already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def details(summary: str, inside: str) -> str:
    """A collapsed part; the summary must be safe already."""
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"
