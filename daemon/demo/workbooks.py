"""Real .xlsx workbooks from plain rows, byte for byte the same every time.

Invariant: `workbook_bytes` of equal books is equal on every machine: no clock, no account name, fixed zip entries.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from openpyxl import Workbook

Cell = str | int | float | None
Rows = Sequence[Sequence[Cell]]

_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_CREATED = re.compile(rb"(<dcterms:(created|modified)[^>]*>)[^<]*(</dcterms:(?:created|modified)>)")


@dataclass(frozen=True)
class Sheet:
    """One sheet: rows from row 1, cells from column A."""

    name: str
    rows: Rows


@dataclass(frozen=True)
class Book:
    """A workbook, its sheets in order, with the one that is shown on opening."""

    sheets: tuple[Sheet, ...]
    active: str


def workbook_bytes(book: Book) -> bytes:
    """The book as an .xlsx file."""
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    for sheet in book.sheets:
        worksheet = workbook.create_sheet(sheet.name)
        for row in sheet.rows:
            worksheet.append(list(row))
    workbook.active = [sheet.name for sheet in book.sheets].index(book.active)
    raw = io.BytesIO()
    workbook.save(raw)
    workbook.close()
    return _without_clock(raw.getvalue())


def _without_clock(xlsx: bytes) -> bytes:
    """The same zip with fixed dates inside and outside its entries."""
    fixed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(xlsx)) as old, zipfile.ZipFile(fixed, "w") as new:
        for name in sorted(old.namelist()):
            content = old.read(name)
            if name == "docProps/core.xml":
                content = _CREATED.sub(rb"\g<1>2025-01-01T00:00:00Z\g<3>", content)
            entry = zipfile.ZipInfo(name, _ZIP_DATE)
            entry.compress_type = zipfile.ZIP_STORED  # no compressor, no difference between its versions
            entry.create_system = 3
            entry.external_attr = 0o600 << 16
            new.writestr(entry, content)
    return fixed.getvalue()
