"""A trace summary in its parts, and how its text is read back into them.

The text is safe to read back: only our own headings and the heads of rows stand at the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harnesses.traces.rows import Row, clipped, indented, laid_out
from harnesses.traces.text import one_line

STORY = "what happened, in order:"
ANSWER = "final answer:"
_ROW = re.compile(r"(\d{1,9})\. (.*)")
_ERROR = re.compile(r"(?:FATAL )?ERROR\b|tool .*\[FAILED[^\]]*\]:$")
_SAID = re.compile(r"(?:said|reasoning):")
_GAP = re.compile(r"  \(… (\d{1,9}) left out.*…\)")


@dataclass(frozen=True)
class Summary:
    """A summary in its parts."""

    head: str
    rows: tuple[Row, ...]
    total: int
    """Events there were; those without a row were left out."""
    answer: str

    def text(self, limit: int) -> str:
        """In about `limit` characters: the answer gets a quarter, and what the rows do not need."""
        answer, head = self.answer.strip(), self.head
        if len(head) > limit // 3:
            head = "\n".join(one_line(line, max(80, limit // 12)) for line in head.split("\n"))
        room = max(200, limit - len(head) - len(ANSWER) - 4)
        needed = sum(len(row.text()) + 1 for row in self.rows)
        answer = clipped(answer, max(160, room // 4, room - needed))
        shown = indented(answer) if answer else "  (none)"
        story = laid_out(self.rows, max(160, room - len(shown)), total=self.total)
        return f"{head}\n{STORY}\n{story}\n{ANSWER}\n{shown}\n"

    def brief(self) -> Summary:
        """For next to no room: the first heading, the errors and the answer; without errors, the last row."""
        errors = tuple(row for row in self.rows if row.error)
        return replace(self, head=self.head.split("\n", 1)[0], rows=errors or self.rows[-1:])


def parsed(summary: str) -> Summary | None:
    """The parts of a summary; None if it has not their shape."""
    lines = summary.split("\n")
    if STORY not in lines or ANSWER not in lines:
        return None
    start = lines.index(STORY)
    end = len(lines) - 1 - lines[::-1].index(ANSWER)
    if end < start:
        return None
    rows, total = _rows(lines[start + 1 : end])
    answer = "\n".join(line.removeprefix("  ") for line in lines[end + 1 :]).strip()
    return Summary("\n".join(lines[:start]), rows, total, "" if answer == "(none)" else answer)


def _rows(lines: Sequence[str]) -> tuple[tuple[Row, ...], int]:
    """The rows, and how many there were before some were left out: told by the numbers and by a gap at the end."""
    rows: list[Row] = []
    texts: dict[int, tuple[list[str], list[str]]] = {}
    for line in lines:
        number = rows[-1].number if rows else 0
        if (start := _ROW.fullmatch(line)) and int(start[1]) > number:
            rows.append(Row(int(start[1]), start[2], error=_ERROR.match(start[2]) is not None))
            texts[rows[-1].number] = ([], [])
        elif rows and not _GAP.fullmatch(line):
            given, output = texts[number]
            if line.startswith("  > ") and not _SAID.match(rows[-1].head):
                output.append(line.removeprefix("  > "))
            else:
                (output or given).append(line.removeprefix("  "))
    whole = tuple(replace(r, given="\n".join(texts[r.number][0]), output="\n".join(texts[r.number][1])) for r in rows)
    gap = _GAP.fullmatch(lines[-1]) if lines else None
    return whole, (whole[-1].number if whole else 0) + (int(gap[1]) if gap else 0)
