"""Answer positions of spreadsheets: `Sheet1!A1:B3, 'P & L'!C2, D:D` to typed ranges.

Reads every form the public data holds (stray quotes, a comma inside a quoted sheet name, no-break spaces, whole
columns) and refuses what is no range, so that one bad task is found at load time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_ROW = 1_048_576
MAX_COLUMN = 16_384

_PART = re.compile(
    r"""\s*
    (?:(?:'(?P<quoted>(?:[^'!]|'')+)'?|(?P<plain>[^',!]+)'?)!'?)?
    '?(?P<range>\$?[A-Za-z]{1,3}\$?[0-9]{0,7}(?::\$?[A-Za-z]{1,3}\$?[0-9]{0,7})?)'?
    \s*(?:,(?!\s*$)|$)""",
    re.VERBOSE,
)
_CORNER = re.compile(r"([A-Za-z]{1,3})([0-9]*)")


@dataclass(frozen=True)
class CellRange:
    """A rectangle of cells, one-based and inclusive."""

    sheet: str | None
    """None: the first sheet of the gold workbook."""
    label: str
    """As people write it (`B2:B9`)."""
    first_row: int
    last_row: int | None
    """None: whole columns."""
    first_column: int
    last_column: int

    @property
    def columns(self) -> int:
        """How many columns wide."""
        return self.last_column - self.first_column + 1


def parse_ranges(position: str) -> tuple[CellRange, ...]:
    """All ranges of an answer position; raises `ValueError` naming the text that is none."""
    text = position.replace("\u00a0", " ").strip()
    ranges: list[CellRange] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None:
            msg = f"range: {text[at : at + 60]!r} is not a cell range: write Sheet!A1:B9, several separated by commas"
            raise ValueError(msg)
        sheet = match["quoted"] or match["plain"]
        ranges.append(_range(sheet.strip().replace("''", "'") if sheet else None, match["range"]))
        at = match.end()
    if not ranges:
        msg = "range: is empty: write Sheet!A1:B9"
        raise ValueError(msg)
    return tuple(ranges)


def _range(sheet: str | None, written: str) -> CellRange:
    label = written.replace("$", "").upper()
    first, _, last = label.partition(":")
    (column_a, row_a), (column_b, row_b) = _corner(first, label), _corner(last or first, label)
    if (row_a is None) != (row_b is None) or (row_a is None and not last):
        msg = f"range: {label!r} mixes a cell and a column: write A1:B9 or A:B"
        raise ValueError(msg)
    rows = sorted(row for row in (row_a, row_b) if row is not None)
    return CellRange(
        sheet=sheet,
        label=label,
        first_row=rows[0] if rows else 1,
        last_row=rows[-1] if rows else None,
        first_column=min(column_a, column_b),
        last_column=max(column_a, column_b),
    )


def _corner(text: str, label: str) -> tuple[int, int | None]:
    match = _CORNER.fullmatch(text)
    assert match is not None, text
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    row = int(match[2]) if match[2] else None
    if column > MAX_COLUMN or (row is not None and not 1 <= row <= MAX_ROW):
        msg = f"range: {label!r} lies outside a sheet"
        raise ValueError(msg)
    return column, row
