"""Where an edit may take hold of a text: what is editable in it, and the unique place of an anchor.

Invariant: of SKILL.md, frontmatter and guarded region are protected spans; no place handed out touches them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from skills_repo import frontmatter, guarded
from skills_repo.newlines import LineView

_BLANK_LINE_BEFORE = re.compile(r"(?:\A|\n)[ \t]*\n\Z")


class Miss(StrEnum):
    """Why an anchor has no place (the values are those of `EditStatus`)."""

    MISSING = "target_missing"
    AMBIGUOUS = "target_ambiguous"
    FRONTMATTER = "touches_frontmatter"
    GUARDED = "touches_guarded"


@dataclass(frozen=True)
class Place:
    """Positions in the LF view of the text."""

    start: int
    end: int


class Ground:
    """One text, its protected spans, and the places in it. Raises `SkillError` if SKILL.md has no frontmatter."""

    def __init__(self, text: str, *, whole: bool = False) -> None:
        """`whole`: nothing is protected, as in any file but SKILL.md."""
        self.view = LineView(text)
        self._text = self.view.text
        self._head = 0 if whole else len(frontmatter.split(self._text).head)
        self._region = None if whole else guarded.find(self._text)

    @property
    def protected(self) -> tuple[str, str | None]:
        """The original text of the frontmatter (without its last line end) and of the guarded region."""
        original = self.view.original
        head = original[: self.view.at(self._head)].rstrip("\r\n")
        if self._region is None:
            return head, None
        return head, original[self.view.at(self._region.start) : self.view.at(self._region.end)]

    def locate(self, target: str) -> Place | Miss:
        """The one place of the target in the editable text, or why there is none."""
        target = target.replace("\r\n", "\n")
        if guarded.MARK in target.lower():
            return Miss.GUARDED
        free: list[Place] = []
        misses: set[Miss] = set()
        position = -1
        while (position := self._text.find(target, position + 1)) >= 0:
            place = Place(position, position + len(target))
            miss = self._touches(place)
            if miss is None:
                free.append(place)
                if len(free) > 1:
                    return Miss.AMBIGUOUS
            else:
                misses.add(miss)
        if free:
            return free[0]
        return next((miss for miss in (Miss.GUARDED, Miss.FRONTMATTER) if miss in misses), Miss.MISSING)

    def occurrences(self, target: str) -> str:
        """Where an ambiguous target stands, in words."""
        target = target.replace("\r\n", "\n")
        found = [match.start() for match in re.finditer(f"(?={re.escape(target)})", self._text)]
        found = [at for at in found if self._touches(Place(at, at + len(target))) is None]
        lines = sorted({self._text.count("\n", 0, at) + 1 for at in found})
        shown = ", ".join(map(str, lines[:8])) + (", …" if len(lines) > 8 else "")
        return f"it occurs {len(found)} times, in {'line' if len(lines) == 1 else 'lines'} {shown}"

    def lines(self, wanted: Callable[[str], bool]) -> list[Place]:
        """The whole lines, line ends included, that are `wanted` and not protected."""
        found, start = [], 0
        for line in self._text.split("\n"):
            place = Place(start, min(len(self._text), start + len(line) + 1))
            if wanted(line) and self._touches(place) is None:
                found.append(place)
            start += len(line) + 1
        return found

    def _touches(self, place: Place) -> Miss | None:
        if self._region is not None and place.end > self._region.start and place.start < self._region.end:
            return Miss.GUARDED
        return Miss.FRONTMATTER if place.start < self._head else None

    def below(self, place: Place, content: str) -> tuple[Place, str]:
        """Where and what to insert so that the content stands on its own lines below the place's last line."""
        content = content if content.endswith("\n") else content + "\n"
        if self._text[place.end - 1] == "\n":
            return Place(place.end, place.end), content
        newline = self._text.find("\n", place.end)
        if newline < 0:
            end = len(self._text)
            return Place(end, end), "\n" + content
        return Place(newline + 1, newline + 1), content

    def at_end(self, content: str) -> tuple[Place, str]:
        """Where and what to insert to append, with one blank line between it and what is before (and the region)."""
        region = self._region
        last = region is not None and not self._text[region.end :].strip()
        end = region.start if region is not None and last else len(self._text)
        before = self._text[:end]
        known = not before.strip("\ufeff") or _BLANK_LINE_BEFORE.search(before)
        gap = "" if known else "\n" if before.endswith("\n") else "\n\n"
        return Place(end, end), gap + content + ("\n\n" if last else "\n")
