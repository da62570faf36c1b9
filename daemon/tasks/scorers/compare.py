"""Compare the answer ranges of two workbooks, cell by cell. Runs inside the worker process only.

Gold is read first and through the same code, so a gold workbook that cannot be read is told apart from a bad output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from openpyxl.utils import get_column_letter

from daemon.tasks.scorers.cells import Value, difference, same_cell
from daemon.tasks.scorers.ranges import CellRange
from daemon.tasks.scorers.xlsx import Grid, Workbook, WorkbookError, open_workbook

SAMPLES = 20
"""Wrong cells kept with both values, for people."""
EMPTY_FORMULA = "empty (a formula without a stored value)"
Sample: TypeAlias = tuple[str, str, str]
"""(cell, expected, found)."""


class GoldError(Exception):
    """The gold workbook is unfit: a failure of the task, not of the agent."""


@dataclass(frozen=True)
class Part:
    """How one range came out."""

    where: str
    """`Sheet!A1:B3`."""
    cells: int
    wrong: int
    kinds: tuple[tuple[str, int], ...] = ()
    """In what way how many cells differ, most first."""
    sheet_found: bool = True

    @property
    def sentence(self) -> str:
        """What is wrong with it, in rubric words; never an expected value."""
        if not self.sheet_found:
            return f"all {self.cells} cells of {self.where} are missing: there is no such sheet"
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds)
        return f"{self.wrong} of {self.cells} cells wrong in {self.where}: {kinds}"


@dataclass(frozen=True)
class Comparison:
    """How a workbook came out. `samples` hold gold values: for people alone."""

    parts: tuple[Part, ...]
    samples: tuple[Sample, ...] = ()

    @property
    def cells(self) -> int:
        """Cells compared."""
        return sum(part.cells for part in self.parts)

    @property
    def wrong(self) -> int:
        """Cells that differ."""
        return sum(part.wrong for part in self.parts)

    @property
    def feedback(self) -> str:
        """What is wrong, range by range; empty if nothing is."""
        return "; ".join(part.sentence for part in self.parts if part.wrong)


def read_gold(data: bytes, ranges: Sequence[CellRange]) -> tuple[str, list[Grid]]:
    """The gold's first sheet name and its cells; raises `GoldError` if it is unfit to score by."""
    try:
        with open_workbook(data) as book:
            first_sheet = book.sheets[0] if book.sheets else ""
            grids = [book.grid(one, one.sheet or first_sheet) for one in ranges]
    except WorkbookError as error:
        msg = f"the gold workbook {error}"
        raise GoldError(msg) from error
    for one, grid in zip(ranges, grids, strict=True):
        if not grid.found:
            msg = f"the gold workbook has no sheet {one.sheet or first_sheet!r}: mend option range"
            raise GoldError(msg)
    return first_sheet, grids


def compare(data: bytes, ranges: Sequence[CellRange], gold: tuple[str, list[Grid]]) -> Comparison:
    """Compare an output's bytes with the gold cells; raises `WorkbookError` if the output cannot be read."""
    first_sheet, gold_grids = gold
    parts, samples = [], []
    with open_workbook(data) as book:
        for one, expected in zip(ranges, gold_grids, strict=True):
            part, wrong = _part(one, one.sheet or first_sheet, expected, book)
            parts.append(part)
            samples.extend(wrong)
    return Comparison(parts=tuple(parts), samples=tuple(samples[:SAMPLES]))


Spot: TypeAlias = tuple[int, int]
"""(row, column)."""


def _part(one: CellRange, sheet: str, gold: Grid, book: Workbook) -> tuple[Part, list[Sample]]:
    given = book.grid(one, sheet)
    cells = _area(one, gold, given)
    where = f"{sheet}!{one.label}"
    if not given.found:
        return Part(where=where, cells=cells, wrong=cells, sheet_found=False), []
    wrong = [
        (spot, gold.cells.get(spot), given.cells.get(spot))
        for spot in sorted(gold.cells.keys() | given.cells.keys())
        if not same_cell(gold.cells.get(spot), given.cells.get(spot))
    ]
    # Formulas need a second reading of the output: only where a wrong cell is empty.
    formulas = book.formulas(one, sheet) if any(value is None for _, _, value in wrong) else frozenset()
    kinds = Counter(EMPTY_FORMULA if spot in formulas else difference(left, right) for spot, left, right in wrong)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    part = Part(where=where, cells=cells, wrong=len(wrong), kinds=tuple(ordered))
    return part, [_sample(sheet, *row) for row in wrong[:SAMPLES]]


def _sample(sheet: str, spot: Spot, gold: Value, given: Value) -> Sample:
    return f"{sheet}!{get_column_letter(spot[1])}{spot[0]}", repr(gold)[:200], repr(given)[:200]


def _area(one: CellRange, gold: Grid, given: Grid) -> int:
    if one.last_row is not None:
        return (one.last_row - one.first_row + 1) * one.columns
    last = max((row for row, _ in gold.cells.keys() | given.cells.keys()), default=1)
    return last * one.columns
