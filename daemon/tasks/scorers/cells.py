"""When two spreadsheet cells count as equal, and in what way they differ.

The official SpreadsheetBench rule: numbers, booleans and numeric texts rounded to two decimals; times to the minute;
dates as whole Excel days; "" equals an empty cell; otherwise equal type and value. Source: RUCKBReasoning/
SpreadsheetBench evaluation.py @49b73a9. One difference: texts such as "nan" and "inf" stay texts.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TypeAlias

Value: TypeAlias = object
"""What openpyxl gives for a cell: None, bool, int, float, str, datetime, time or timedelta."""

_EXCEL_EPOCH = dt.datetime(1899, 12, 30)  # noqa: DTZ001 - Excel dates have no zone


def comparable(value: Value) -> Value:
    """The value as it is compared."""
    if isinstance(value, int | float):
        return _rounded(value)
    if isinstance(value, dt.time):
        return str(value)[:-3]
    if isinstance(value, dt.datetime):
        delta = value.replace(tzinfo=None) - _EXCEL_EPOCH
        return round(delta.days + delta.seconds / 86_400, 0)
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        return _rounded(number) if math.isfinite(number) else value
    return value


def _rounded(number: float) -> float:
    try:
        return round(float(number), 2)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def same_cell(gold: Value, given: Value) -> bool:
    """Whether two cells count as equal."""
    left, right = comparable(gold), comparable(given)
    if left in ("", None) and right in ("", None):
        return True
    return type(left) is type(right) and left == right


def difference(gold: Value, given: Value) -> str:
    """In what way two unequal cells differ: a rubric for people and the optimizer, never the expected value."""
    left, right = comparable(gold), comparable(given)
    if right in ("", None):
        return "empty"
    if left in ("", None):
        return "filled though it should be empty"
    if isinstance(right, str) and right.startswith("#") and not isinstance(left, str):
        return "holding an error value"
    if type(left) is not type(right):
        return f"{_kind(right)} instead of {_kind(left)}"
    if isinstance(left, str) and isinstance(right, str):
        same = " ".join(left.split()).casefold() == " ".join(right.split()).casefold()
        return "with text that differs in case or spaces" if same else "with wrong text"
    return f"with a wrong {_kind(left).split()[-1]}"


def _kind(value: Value) -> str:
    if isinstance(value, float):
        return "a number"
    return "text" if isinstance(value, str) else "a duration"
