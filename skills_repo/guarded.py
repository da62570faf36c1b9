"""The guarded region of SKILL.md: written by the slow update alone, never by a step's edits.

Invariants: at most one region, its markers each alone on a line, both in the body.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from skills_repo.hidden import find_hidden
from skills_repo.skill import SkillError

START = "<!-- honed:slow-update:start -->"
END = "<!-- honed:slow-update:end -->"
MARK = "honed:slow-update"
"""What no edit may carry, in whatever spelling."""
_REMEDY = f"keep one line `{START}` and, below it, one line `{END}`"


@dataclass(frozen=True)
class Region:
    """Where the region is, as offsets into the text."""

    start: int
    """Of the start marker."""
    end: int
    """After the end marker (its line end not included)."""


def find(text: str) -> Region | None:
    """The region, or None; raises `SkillError` where the markers are not well formed."""
    starts = [match.start() for match in re.finditer(re.escape(START), text)]
    ends = [match.start() for match in re.finditer(re.escape(END), text)]
    if not starts and not ends:
        return None
    place = min(starts + ends)
    line = text.count("\n", 0, place) + 1
    if len(starts) != 1 or len(ends) != 1 or ends[0] < starts[0]:
        raise SkillError("the guarded region's markers do not pair", remedy=_REMEDY, line=line)
    region = Region(starts[0], ends[0] + len(END))
    for position, marker in ((starts[0], START), (ends[0], END)):
        after = position + len(marker)
        if (position and text[position - 1] != "\n") or not re.match(r"\r?\n|\Z", text[after:]):
            raise SkillError("a guarded region's marker is not alone on its line", remedy=_REMEDY, line=line)
    return region


def read(text: str) -> str:
    """What the region says, without markers and outer line ends; empty where there is none."""
    region = find(text)
    if region is None:
        return ""
    return text[region.start + len(START) : region.end - len(END)].strip("\r\n")


def without(text: str) -> str:
    """The text with the region cut out, and one line end less at the very end if the region was the last thing.

    Two texts that differ in nothing but the region, made or removed, come to the same.
    """
    region = find(text)
    rest = text if region is None else text[: region.start] + text[region.end :]
    return rest.rstrip("\r\n")


def write(text: str, content: str) -> str:
    """The text with the region's content replaced; a missing region is made at the end, after one blank line.

    For the slow update alone. Empty content leaves an empty region. Raises `SkillError` for content that carries
    a marker or hidden characters.
    """
    if MARK in content.lower():
        raise SkillError("the slow update carries a region marker", remedy="write it without markers")
    hidden = find_hidden(content)
    if hidden is not None:
        raise SkillError(f"the slow update carries the hidden character {hidden[1]}", remedy="write plain text")
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    inner = content.replace("\r\n", "\n").strip("\n")
    block = newline.join([START, *(inner.split("\n") if inner else []), END])
    region = find(text)
    if region is not None:
        return text[: region.start] + block + text[region.end :]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + block + newline
