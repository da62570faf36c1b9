"""The rows of a trace summary, and how they are made to fit: the same for a fresh trace and for a summary read back.

Invariants: a row's texts are indented, so that none of them can pose as a row or a heading; rows stay in order under
their own numbers; the first, the last and every error are kept, shortened if need be, both ends of each text. Only
where the errors alone are too many for the room do those in the middle go, and how many is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BOUNDS = (4_000, 2_800, 2_000, 1_400, 1_000, 700, 500, 360, 260, 180, 120, 80)
"""Characters kept of each text of a row, each tighter than the one before; what an error says keeps twice that."""
_ERROR_CHARS = 240
"""What an error says keeps at least that many, while all rows are kept."""
_LEAST = 80
"""Characters an error keeps where there are very many."""
_CUT = re.compile(r"\[… (\d+) characters left out …\]")


@dataclass(frozen=True)
class Row:
    """One thing that happened."""

    number: int
    """From 1; gaps are rows left out."""
    head: str
    """One line without the number: what it is and how it ended."""
    given: str = ""
    """What was said, or what the tool was given."""
    output: str = ""
    error: bool = False

    def text(self, bound: int | None = None) -> str:
        """The row with about `bound` characters of each text (None: whole); an error's telling text keeps more."""
        more = None if bound is None else max(_ERROR_CHARS, 2 * bound) if self.error else bound
        lines = [f"{self.number}. {self.head}"]
        if self.given.strip():
            lines.append(indented(_clipped(self.given, bound if self.output.strip() else more)))
        if self.output.strip():
            lines.append(indented(_clipped(self.output, more), "  > "))
        return "\n".join(lines)

    def squeezed(self, room: int) -> str:
        """An error in about `room` characters: mostly what was said about it, some of what led to it."""
        if len(whole := self.text()) <= room:
            return whole
        lines = [f"{self.number}. {self.head}"]
        left = max(40, room - len(lines[0]))
        both = self.given.strip() and self.output.strip()
        if self.given.strip():
            lines.append(indented(clipped(self.given, left // 3 if both else left)))
        if self.output.strip():
            lines.append(indented(clipped(self.output, left - left // 3 if both else left), "  > "))
        return "\n".join(lines)


def _clipped(text: str, limit: int | None) -> str:
    return text if limit is None else clipped(text, limit)


def indented(text: str, margin: str = "  ") -> str:
    """Every line behind a margin."""
    return "\n".join(margin + line for line in text.split("\n"))


def clipped(text: str, limit: int) -> str:
    """About `limit` characters: both ends, at line breaks where there are some near, and how much is missing."""
    if len(text) <= limit:
        return text
    head, tail = text[: limit * 2 // 3], text[len(text) - (limit - limit * 2 // 3) :]
    if (at := head.rfind("\n")) > len(head) // 2:
        head = head[:at]
    if 0 <= (at := tail.find("\n")) < len(tail) // 2:
        tail = tail[at + 1 :]
    middle = text[len(head) : len(text) - len(tail)]
    earlier = sum(int(count) - len(note) for note, count in ((m[0], m[1]) for m in _CUT.finditer(middle)))
    return f"{head}\n[… {max(1, len(middle) + earlier)} characters left out …]\n{tail}"


def laid_out(rows: Sequence[Row], room: int, *, total: int) -> str:
    """The rows of a trace of `total` events as text of about `room` characters."""
    if not rows:
        return "  (nothing)"
    for bound in (None, *_BOUNDS):
        if (kept := _all_within(rows, bound, room)) is not None:
            return _with_gaps(kept, rows, total)
    return _with_gaps(_both_ends(rows, room), rows, total)


def _all_within(rows: Sequence[Row], bound: int | None, room: int) -> dict[int, str] | None:
    """All rows at a bound, or None as soon as they are too much."""
    kept: dict[int, str] = {}
    for row in rows:
        kept[row.number] = row.text(bound)
        room -= len(kept[row.number]) + 1
        if room < 0:
            return None
    return kept


def _both_ends(rows: Sequence[Row], room: int) -> dict[int, str]:
    """Whole rows from both ends, and every error wherever it is."""
    errors = [row for row in rows if row.error]
    for_errors = room * 2 // 3
    each = max(_LEAST, min(600, for_errors // max(1, len(errors))))
    fitting = max(2, for_errors // (_LEAST + 1))
    if len(errors) > fitting:
        errors = errors[: fitting - fitting // 2] + errors[len(errors) - fitting // 2 :]
    kept = {row.number: row.squeezed(each) for row in errors}
    used = sum(map(len, kept.values())) + len(kept)
    ends = {rows[0].number, rows[-1].number}
    for row in _outside_in(rows):
        if row.number in kept or row.error:
            continue
        text = row.text(_BOUNDS[-1])
        if used + len(text) + 1 > room and row.number not in ends:
            break
        kept[row.number] = text
        used += len(text) + 1
    return kept


def _outside_in(rows: Sequence[Row]) -> list[Row]:
    """First, last, second, last but one, …, each once."""
    last = len(rows) - 1
    order = dict.fromkeys(index for offset in range((len(rows) + 1) // 2) for index in (offset, last - offset))
    return [rows[index] for index in order]


def _with_gaps(kept: dict[int, str], rows: Sequence[Row], total: int) -> str:
    errors = {row.number for row in rows if row.error}
    lines: list[str] = []
    before = 0
    for number in [*sorted(kept), total + 1]:
        if (gap := number - before - 1) > 0:
            failed = sum(before < error < number for error in errors)
            also = f", {failed} of them errors" if failed else ""
            lines.append(f"  (… {gap} left out{also} …)")
        if number in kept:
            lines.append(kept[number])
        before = number
    return "\n".join(lines)
