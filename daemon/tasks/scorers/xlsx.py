"""Read ranges of cells out of an .xlsx that may be hostile. Runs inside the worker process only.

Bounds come first: a package with too many, too large or too well packed entries is refused before a byte of XML is
read. Cells under a merged area are read as stored. A formula without a stored value is an empty cell.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterable, Mapping
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
MAX_RATIO = 300
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


@dataclass(frozen=True)
class Workbook:
    """An opened package and its sheet names in order."""

    data: bytes
    sheets: tuple[str, ...]


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


def open_workbook(data: bytes) -> Workbook:
    """Check the bounds and read the sheet names."""
    check_package(data)
    book = _load(data, values=True)
    try:
        return Workbook(data=data, sheets=tuple(book.sheetnames))
    finally:
        book.close()


def read_grids(book: Workbook, ranges: Iterable[CellRange], default_sheet: str) -> list[Grid]:
    """The non-empty cells of each range, in the ranges' order."""
    loaded = _load(book.data, values=True)
    try:
        return [_guarded(loaded, one, one.sheet or default_sheet) for one in ranges]
    finally:
        loaded.close()


def formula_cells(book: Workbook, one: CellRange, sheet: str) -> frozenset[tuple[int, int]]:
    """The cells of a range that hold a formula, whether or not with a stored value."""
    loaded = _load(book.data, values=False)
    try:
        worksheet = loaded[sheet] if sheet in loaded.sheetnames else None
        if not isinstance(worksheet, ReadOnlyWorksheet):
            return frozenset()
        return frozenset(
            (cell.row, cell.column) for row in _rows(worksheet, one) for cell in row if cell.data_type == "f"
        )
    except Exception as error:
        raise _corrupted(error) from error
    finally:
        loaded.close()


def _load(data: bytes, *, values: bool) -> openpyxl.Workbook:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=values, keep_links=False)
    except MemoryError:
        raise
    # openpyxl raises whatever its parsers meet (KeyError, TypeError, ParseError, zlib.error, …): all mean one thing.
    except Exception as error:
        raise _corrupted(error) from error


def _corrupted(error: Exception) -> Exception:
    if isinstance(error, MemoryError):
        return error
    return WorkbookError(f"cannot be read as a workbook ({type(error).__name__})")


def _guarded(loaded: openpyxl.Workbook, one: CellRange, sheet: str) -> Grid:
    try:
        worksheet = loaded[sheet] if sheet in loaded.sheetnames else None
        if not isinstance(worksheet, ReadOnlyWorksheet):
            return Grid(found=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cells = {
                (cell.row, cell.column): cell.value
                for row in _rows(worksheet, one)
                for cell in row
                if cell.value not in (None, "")
            }
        return Grid(found=True, cells=cells)
    except Exception as error:
        raise _corrupted(error) from error


def _rows(worksheet: ReadOnlyWorksheet, one: CellRange) -> Iterable[tuple[ReadOnlyCell, ...]]:
    # The sheet's own dimensions are a claim of the file, so they are forgotten first.
    worksheet.reset_dimensions()
    untyped: Any = worksheet  # the stubs type `iter_rows` for the other kind of sheet alone
    rows: Iterable[tuple[ReadOnlyCell, ...]] = untyped.iter_rows(
        min_row=one.first_row, max_row=one.last_row, min_col=one.first_column, max_col=one.last_column
    )
    return rows
