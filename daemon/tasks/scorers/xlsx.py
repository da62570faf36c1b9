"""Read ranges of cells out of an .xlsx that may be hostile. Runs inside the worker process only.

Bounds come first: a package with too many, too large or too well packed entries is refused before a byte of XML is
read. Cells under a merged area are read as stored. A formula without a stored value is an empty cell.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import openpyxl
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from daemon.tasks.scorers.cells import Value
from daemon.tasks.scorers.ranges import CellRange

MIB = 1024 * 1024
MAX_ENTRIES = 5_000
MAX_UNPACKED = 400 * MIB
MAX_RATIO = 100
"""Unpacked over packed, for packages that unpack to more than `RATIO_FROM`."""
RATIO_FROM = 32 * MIB


class WorkbookError(Exception):
    """The workbook cannot be read; the message says why in words that fit a feedback."""


@dataclass(frozen=True)
class Grid:
    """The cells of one range that hold anything."""

    found: bool
    """False: the workbook has no such sheet."""
    cells: Mapping[tuple[int, int], Value] = field(default_factory=dict)
    """(row, column) to value, without the empty ones."""


def check_package(data: bytes) -> None:
    """Raise `WorkbookError` if the bytes are no zip, or one that unpacks out of bounds."""
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        msg = "is not an .xlsx file"
        raise WorkbookError(msg) from error
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_ENTRIES or unpacked > MAX_UNPACKED:
        msg = "is too large to be read"
        raise WorkbookError(msg)
    if unpacked > RATIO_FROM and unpacked > MAX_RATIO * len(data):
        msg = "is packed suspiciously well: refused as a zip bomb"
        raise WorkbookError(msg)


class Workbook:
    """An open workbook; every method raises `WorkbookError` for what cannot be read, `MemoryError` for want of it."""

    def __init__(self, data: bytes, loaded: openpyxl.Workbook) -> None:
        self._data = data
        self._loaded = loaded
        self.sheets: tuple[str, ...] = tuple(loaded.sheetnames)
        """In the workbook's order; chart sheets among them."""

    def grid(self, one: CellRange, sheet: str) -> Grid:
        """The range's cells that hold anything, with the values stored in the file."""
        with _reading():
            worksheet = _worksheet(self._loaded, sheet)
            if worksheet is None:
                return Grid(found=False)
            cells = (cell for row in _rows(worksheet, one) for cell in row)
            filled = {(cell.row, cell.column): cell.value for cell in cells if cell.value not in (None, "")}
            return Grid(found=True, cells=filled)

    def formulas(self, one: CellRange, sheet: str) -> frozenset[tuple[int, int]]:
        """The range's cells that hold a formula, whether or not with a stored value. Reads the file once more."""
        with _reading(), closing(_load(self._data, values=False)) as loaded:
            worksheet = _worksheet(loaded, sheet)
            if worksheet is None:
                return frozenset()
            cells = (cell for row in _rows(worksheet, one) for cell in row)
            return frozenset((cell.row, cell.column) for cell in cells if cell.data_type == "f")


@contextmanager
def open_workbook(data: bytes) -> Iterator[Workbook]:
    """Check the bounds and open; raises `WorkbookError`."""
    check_package(data)
    with _reading():
        loaded = _load(data, values=True)
    with closing(loaded):
        yield Workbook(data, loaded)


def _load(data: bytes, *, values: bool) -> openpyxl.Workbook:
    return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=values, keep_links=False)


@contextmanager
def _reading() -> Iterator[None]:
    """Whatever openpyxl's parsers raise (KeyError, TypeError, ParseError, zlib.error, …) means one thing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (MemoryError, WorkbookError):
        raise
    except Exception as error:
        msg = f"cannot be read as a workbook ({type(error).__name__})"
        raise WorkbookError(msg) from error


def _worksheet(loaded: openpyxl.Workbook, name: str) -> ReadOnlyWorksheet | None:
    """The sheet, or None if there is none of that name or it is a chart."""
    found = loaded[name] if name in loaded.sheetnames else None
    return found if isinstance(found, ReadOnlyWorksheet) else None


def _rows(worksheet: ReadOnlyWorksheet, one: CellRange) -> Iterable[tuple[ReadOnlyCell, ...]]:
    # The sheet's own dimensions are a claim of the file, so they are forgotten first.
    worksheet.reset_dimensions()
    untyped: Any = worksheet  # the stubs type `iter_rows` for the other kind of sheet alone
    rows: Iterable[tuple[ReadOnlyCell, ...]] = untyped.iter_rows(
        min_row=one.first_row, max_row=one.last_row, min_col=one.first_column, max_col=one.last_column
    )
    return rows
