from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.tasks.scorers.ranges import CellRange, parse_ranges


def shape(position: str) -> list[tuple[str | None, str]]:
    return [(one.sheet, one.label) for one in parse_ranges(position)]


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("A1", [(None, "A1")]),
        ("a1:$b$3", [(None, "A1:B3")]),
        ("Sheet1!A1:B3", [("Sheet1", "A1:B3")]),
        ("'Sheet 1'!A1:B3,Sheet2!C1", [("Sheet 1", "A1:B3"), ("Sheet2", "C1")]),
        ("G4:G6, G11:G13, G20:G22", [(None, "G4:G6"), (None, "G11:G13"), (None, "G20:G22")]),
        # Forms that the public data really holds:
        ("Sheet3'!A:G,'Sheet4'!A:G", [("Sheet3", "A:G"), ("Sheet4", "A:G")]),
        ("'b2b, sez, de'!A5:V10", [("b2b, sez, de", "A5:V10")]),
        ("\u00a0'Sheet1'!C2:C3", [("Sheet1", "C2:C3")]),
        ("'99250!A1:F9','99251!A1:F8'", [("99250", "A1:F9"), ("99251", "A1:F8")]),
        ("'Sheet1!'A1:A50,'Sheet2!'A1:E20", [("Sheet1", "A1:A50"), ("Sheet2", "A1:E20")]),
        ("'It''s'!A1", [("It's", "A1")]),
    ],
)
def test_positions_are_read(position: str, expected: list[tuple[str | None, str]]) -> None:
    assert shape(position) == expected


def test_corners_may_come_in_any_order() -> None:
    (one,) = parse_ranges("C9:B2")
    assert (one.first_row, one.last_row, one.first_column, one.last_column) == (2, 9, 2, 3)


def test_whole_columns_have_no_last_row() -> None:
    assert parse_ranges("B:D") == (CellRange(None, "B:D", 1, None, 2, 4),)


@pytest.mark.parametrize(
    "position",
    [
        *("", " ", ",", "A1,", "A1,,B2", "Sheet1!", "!A1", "1:3", "A", "A1:B", "'Sheet1'!BD2:308", "A0", "XFE1"),
        *("A1048577", "A1:B2:C3", "A1;B2", "Sheet1!Sheet2!A1", "=A1", "R1C1:R2C2", "A1 B2"),
    ],
)
def test_what_is_no_range_is_refused(position: str) -> None:
    with pytest.raises(ValueError, match=r"^range: "):
        parse_ranges(position)


@given(st.text(alphabet="AZ19:!', $\u00a0", max_size=40))
def test_nothing_but_a_value_error_is_raised(position: str) -> None:
    try:
        ranges = parse_ranges(position)
    except ValueError:
        return
    assert all(one.first_column <= one.last_column for one in ranges)
