"""Workbooks are real and the same on every run."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest

from daemon.demo.workbooks import Book, Sheet, workbook_bytes

BOOK = Book((Sheet("One", [["a", 1], [None, 2.5]]), Sheet("Two", [["x"]])), active="Two")


def test_equal_books_give_equal_bytes_whatever_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    first = workbook_bytes(BOOK)
    monkeypatch.setattr("time.time", lambda: 2_000_000_000.0)
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    assert workbook_bytes(BOOK) == first


def test_no_entry_and_no_property_holds_the_time_of_writing() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook_bytes(BOOK))) as xlsx:
        assert {entry.date_time for entry in xlsx.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        core = xlsx.read("docProps/core.xml").decode()
    assert core.count("2025-01-01T00:00:00Z") == 2


def test_the_workbook_reads_back_as_written() -> None:
    book = openpyxl.load_workbook(io.BytesIO(workbook_bytes(BOOK)))
    assert book.sheetnames == ["One", "Two"]
    assert book.active is book["Two"]
    assert [[cell.value for cell in row] for row in book["One"].iter_rows()] == [["a", 1], [None, 2.5]]


def test_another_active_sheet_is_another_file() -> None:
    assert workbook_bytes(Book(BOOK.sheets, active="One")) != workbook_bytes(BOOK)
