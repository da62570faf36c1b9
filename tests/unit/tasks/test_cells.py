from __future__ import annotations

import datetime as dt

import pytest

from daemon.tasks.scorers.cells import difference, same_cell

DAY = dt.datetime(2024, 3, 1)  # noqa: DTZ001 - cells have no zone


@pytest.mark.parametrize(
    ("gold", "given", "equal"),
    [
        (1, 1.0, True),
        (1, "1", True),
        ("1.234", 1.23, True),
        (3.14159, 3.14, True),
        (3.14159, 3.15, False),
        (0.125, 0.12, True),  # rounds half to even, as the official code does
        (True, 1, True),
        (False, None, False),
        (0, None, False),
        (None, "", True),
        ("", None, True),
        (None, None, True),
        (" ", None, False),
        ("Yes", "yes", False),
        ("Yes", "Yes", True),
        ("Yes ", "Yes", False),
        (DAY, DAY.replace(hour=11), True),
        (DAY, DAY.replace(hour=13), False),  # rounds to the next day
        (DAY, 45352, True),  # the day's number in Excel
        (DAY, "2024-03-01", False),
        (dt.time(9, 30), dt.time(9, 30, 59), True),
        (dt.time(9, 30), "09:30", True),
        (dt.time(9, 30), dt.time(9, 31), False),
        (dt.timedelta(hours=30), dt.timedelta(hours=30), True),
        (dt.timedelta(hours=30), 1.25, False),
        ("nan", "nan", True),
        ("inf", float("inf"), False),
        pytest.param(10**400, 10**400, True, id="too large for a float"),
        pytest.param(10**400, -(10**400), False, id="too large, other sign"),
    ],
)
def test_same_cell_follows_the_official_rule(gold: object, given: object, equal: bool) -> None:
    assert same_cell(gold, given) is equal


@pytest.mark.parametrize(
    ("gold", "given", "kind"),
    [
        (5, None, "empty"),
        (5, "", "empty"),
        (None, 5, "filled though it should be empty"),
        (5, "five", "text instead of a number"),
        ("five", 5, "a number instead of text"),
        (5, "#DIV/0!", "holding an error value"),
        (5, 6, "with a wrong number"),
        (dt.timedelta(1), 1, "a number instead of a duration"),
        (dt.timedelta(1), dt.timedelta(2), "with a wrong duration"),
        ("Yes", " yes", "with text that differs in case or spaces"),
        ("Yes", "No", "with wrong text"),
    ],
)
def test_differences_have_names(gold: object, given: object, kind: str) -> None:
    assert difference(gold, given) == kind
