"""Reading and comparing workbooks, hostile ones among them, without the worker process."""

from __future__ import annotations

import io
import warnings
import zipfile

import pytest

from daemon.tasks.scorers import xlsx
from daemon.tasks.scorers.compare import EMPTY_FORMULA, Comparison, GoldError, compare, read_gold
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.xlsx import WorkbookError, check_package
from tests.support.tasks import book, sheets


def compared(gold: bytes, output: bytes, position: str) -> Comparison:
    ranges = parse_ranges(position)
    return compare(output, ranges, read_gold(gold, ranges))


def zipped(entries: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, data in entries.items():
            package.writestr(name, data)
    return made.getvalue()


def patched(workbook: bytes, name: str, old: bytes, new: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(workbook)) as package:
        entries = {entry: package.read(entry) for entry in package.namelist()}
    assert old in entries[name]
    entries[name] = entries[name].replace(old, new)
    return zipped(entries)


def test_equal_workbooks_have_no_wrong_cell() -> None:
    gold = book(A1=1, A2="x", B2=2.5)
    result = compared(gold, gold, "A1:B3")
    assert (result.cells, result.wrong, result.samples) == (6, 0, ())


def test_cells_outside_the_range_do_not_count() -> None:
    assert compared(book(A1=1), book(A1=1, B1="note", A9=3), "A1:A8").wrong == 0


def test_every_kind_of_difference_is_counted_apart() -> None:
    gold = book(A1=1, A2=2, A3="x", A4="Yes", A5=5)
    output = book(A1="=1+0", A3="x", A4="yes", A5=6, A6="left over")
    (part,) = compared(gold, output, "A1:A6").parts
    assert (part.where, part.cells, part.wrong) == ("Sheet1!A1:A6", 6, 5)
    assert dict(part.kinds) == {
        EMPTY_FORMULA: 1,
        "empty": 1,
        "with text that differs in case or spaces": 1,
        "with a wrong number": 1,
        "filled though it should be empty": 1,
    }


def test_samples_hold_both_values_for_people() -> None:
    assert compared(book(B2=7), book(B2="seven"), "A1:C3").samples == (("Sheet1!B2", "7", "'seven'"),)


def test_several_sheets_and_a_missing_one() -> None:
    gold = sheets({"In": {"A1": 1}, "Out": {"A1": 2, "A2": 3}})
    result = compared(gold, sheets({"In": {"A1": 1}}), "In!A1,Out!A1:A2")
    assert [(part.where, part.wrong, part.sheet_found) for part in result.parts] == [
        ("In!A1", 0, True),
        ("Out!A1:A2", 2, False),
    ]


def test_without_a_sheet_the_first_of_the_gold_is_meant() -> None:
    gold = sheets({"Out": {"A1": 1}, "In": {"A1": 9}})
    assert compared(gold, sheets({"In": {"A1": 9}, "Out": {"A1": 1}}), "A1").wrong == 0


def test_whole_columns_end_at_the_last_row_of_either() -> None:
    result = compared(book(A1=1, A2=2), book(A1=1, A2=2, B5="more"), "A:B")
    assert (result.cells, result.wrong) == (10, 1)


def test_a_claimed_dimension_hides_nothing() -> None:
    output = patched(book(A1=1, A9=9), "xl/worksheets/sheet1.xml", b'ref="A1:A9"', b'ref="A1"')
    assert compared(book(A1=1, A9=9), output, "A1:A9").wrong == 0
    assert compared(book(A1=1), output, "A:A").wrong == 1


def test_a_formula_with_a_stored_value_counts_by_its_value() -> None:
    output = patched(book(A1="=1+1"), "xl/worksheets/sheet1.xml", b"<v />", b"<v>2</v>")
    assert compared(book(A1=2), output, "A1").wrong == 0


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is not an .xlsx file"),
        (b"PK\x03\x04 not really", "is not an .xlsx file"),
        (b"<html></html>", "is not an .xlsx file"),
        (zipped({"hello.txt": b"hello"}), "cannot be read as a workbook"),
        (book(A1=1)[:-40], "is not an .xlsx file"),
        (patched(book(A1=1), "xl/workbook.xml", b"<sheets>", b"<sheets"), "cannot be read as a workbook"),
        (patched(book(A1=1), "xl/worksheets/sheet1.xml", b"<v>1</v>", b"<v>one</v>"), "cannot be read"),
        (patched(book(A1=1), "xl/worksheets/sheet1.xml", b't="n"><v>1<', b't="s"><v>99<'), "cannot be read"),
    ],
)
def test_a_broken_output_says_so(data: bytes, why: str) -> None:
    with pytest.raises(WorkbookError, match=why):
        compared(book(A1=1), data, "A1")


def test_the_same_faults_in_a_gold_are_the_tasks() -> None:
    ranges = parse_ranges("Nowhere!A1")
    with pytest.raises(GoldError, match="the gold workbook has no sheet 'Nowhere': mend option range"):
        read_gold(book(A1=1), ranges)
    with pytest.raises(GoldError, match="the gold workbook is not an"):
        read_gold(b"junk", ranges)


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"xl/worksheets/sheet1.xml": b"0" * (40 * xlsx.MIB)})
    with pytest.raises(WorkbookError, match="packed suspiciously well"):
        check_package(bomb)
    monkeypatch.setattr(xlsx, "MAX_UNPACKED", 39 * xlsx.MIB)
    with pytest.raises(WorkbookError, match="too large"):
        check_package(bomb)


def test_too_many_entries_are_refused() -> None:
    with pytest.raises(WorkbookError, match="too large"):
        check_package(zipped({f"e{number}": b"" for number in range(xlsx.MAX_ENTRIES + 1)}))


def test_entities_are_not_expanded_without_bound() -> None:
    lol = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + level, b"&%c;" % (97 + level) * 10) for level in range(9)
    )
    sheet = b'<?xml version="1.0"?>' + lol + b"]><worksheet>&j;</worksheet>"
    entries = zipfile.ZipFile(io.BytesIO(book(A1=1)))
    data = {name: entries.read(name) for name in entries.namelist()} | {"xl/worksheets/sheet1.xml": sheet}
    with pytest.raises(WorkbookError, match=r"cannot be read as a workbook \(ParseError\)"):
        compared(book(A1=1), zipped(data), "A1")


def test_warnings_of_the_reader_stay_inside() -> None:
    output = patched(
        book(A1=1), "xl/worksheets/sheet1.xml", b"</sheetData>", b"</sheetData><extLst><ext uri='x'/></extLst>"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compared(book(A1=2, A2=3), output, "A1:A2").wrong == 2
