"""Changes to a whole part of SKILL.md: a new body, or a new guarded region; and the guard against deleting it all.

Invariants: frontmatter stays byte for byte, and so does the part that is not written; new text takes the file's line
ends.
"""

from __future__ import annotations

import math
import re

from skills_repo import frontmatter, guarded
from skills_repo.edit import EditStatus, RefusedError
from skills_repo.newlines import LineView
from skills_repo.skill import SkillError

KEPT_SHARE = 0.2
"""Of a body that says something, edits must leave at least this share of the characters."""
SMALL_BODY = 400
"""Characters (blanks not counted) under which a body may shrink to any text at all."""
WHOLE_BODY = 1_200
"""A rewrite this long is a document of its own, however long the old body was (about 300 tokens)."""
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)+")


def trimmed(content: str) -> str:
    """Content (LF) without blank lines at its edges; the first line keeps its indentation. In linear time."""
    blank = _BLANK_LINES.match(content)
    return content[blank.end() if blank else 0 :].rstrip()


def with_body(text: str, content: str) -> str:
    """The text with another body; its guarded region goes to the end, byte for byte. The same body: the same text."""
    head = frontmatter.split(text).head
    region = guarded.find(text)
    newline = LineView(text).newline
    body = trimmed(content.replace("\r\n", "\n"))
    if body == trimmed(written(text).replace("\r\n", "\n")):
        return text
    body = body.replace("\n", newline)
    start = head if head.endswith("\n") else head + newline
    blocks = [body] if region is None else [body, text[region.start : region.end]]
    return start + newline + (newline * 2).join(blocks) + newline


def with_guidance(text: str, content: str) -> str:
    """The text with another guarded region; raises `RefusedError` for content that the region cannot hold."""
    if not content.strip() and guarded.find(text) is None:
        raise RefusedError(EditStatus.NO_CHANGE, "there is no guidance to clear")
    if content.strip() == guarded.read(text).replace("\r\n", "\n").strip() != "":
        raise RefusedError(EditStatus.NO_CHANGE)
    try:
        return guarded.write(text, content)
    except SkillError as error:
        raise RefusedError(EditStatus.MALFORMED, error.what) from error


def room(text: str, max_chars: int) -> int:
    """How many characters a new body may have, so that the whole text has at most `max_chars`; never negative.

    Line ends count as they will be written: with CRLF each of the body's lines takes two.
    """
    region = guarded.find(text)
    newline = LineView(text).newline
    taken = len(frontmatter.split(text).head) + (0 if region is None else region.end - region.start) + 5 * len(newline)
    return max(0, max_chars - taken)


def check_something_left(base: str, before: str, after: str, *, rewrite: bool) -> None:
    """Raise `RefusedError` where hardly anything of the body would be left.

    `base` is the text before the step's first edit, `before` the one this edit meets. Small bodies may shrink to any
    text; of others a fifth must be left, and a rewrite may also be shorter if it is a whole document of its own.
    """
    if re.search(r"\w", written(before)) and not re.search(r"\w", written(after)):
        raise RefusedError(EditStatus.DELETES_DOCUMENT, "no text would be left in the body")
    was, left = _size(base), _size(after)
    least = math.ceil(was * KEPT_SHARE)
    least = min(least, WHOLE_BODY) if rewrite else least
    if was >= SMALL_BODY and left < least and left < _size(before):
        detail = f"{left} of the body's {was} characters would be left; at least {least} must be"
        raise RefusedError(EditStatus.DELETES_DOCUMENT, detail)


def check_file_left(base: str, before: str, after: str) -> None:
    """The same for a file that is not SKILL.md: some text, and a fifth of what the step's first edit met."""
    if re.search(r"\w", before) and not re.search(r"\w", after):
        raise RefusedError(EditStatus.DELETES_DOCUMENT, "no text would be left in the file")
    was, now, left = (len("".join(text.split())) for text in (base, before, after))
    least = math.ceil(was * KEPT_SHARE)
    if was >= SMALL_BODY and left < least and left < now:
        detail = f"{left} of the file's {was} characters would be left; at least {least} must be"
        raise RefusedError(EditStatus.DELETES_DOCUMENT, detail)


def written(text: str) -> str:
    """The body outside the guarded region."""
    return guarded.without(text)[len(frontmatter.split(text).head) :]


def _size(text: str) -> int:
    return len("".join(written(text).split()))
