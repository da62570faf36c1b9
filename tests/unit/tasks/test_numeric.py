from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.tasks.scorers.numeric import gold_quantities
from daemon.tasks.scorers.quantity import find_quantities
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.task import TaskError
from tests.support.tasks import score_answer, task_for


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("2,602.", [2602.0]),
        ("$1,234.50", [1234.5]),
        ("(5.2)", [-5.2]),
        ("($1,000)", [-1000.0]),
        ("the total (2.5 million)", [2.5e6]),
        ("-3", [-3.0]),
        ("\u22123 kg", [-3.0]),
        ("-$5", [-5.0]),
        ("$-5", [-5.0]),
        ("5 million", [5e6]),
        ("5 millions", [5e6]),
        ("5-million", [5e6]),
        ("5bn", [5e9]),
        ("5M", [5e6]),
        ("5m", [5.0]),
        ("1.5e3", [1500.0]),
        (".5", [0.5]),
        ("1950-1960", [1950.0, 1960.0]),
        ("10 - 15", [10.0, -15.0]),
        ("COVID-19 in Q3 of FY1934, 2nd table", []),
        ("3.14.15", []),
        ("1,23", []),
        ("5_000_000", []),
        ("no digits", []),
        ("٣", [3.0]),
    ],
)
def test_numbers_are_found(text: str, full: list[float]) -> None:
    assert [quantity.full for quantity in find_quantities(text)] == full


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15))
def test_a_number_reads_back(number: float) -> None:
    text = f"{number:,.6f}"
    (found,) = find_quantities(text)
    assert math.isclose(found.raw, number, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.parametrize("text", ["(" * 200_000, "1," * 100_000, "-" * 200_000, " " * 200_000, "1 " * 100_000])
def test_hostile_text_costs_no_time(text: str) -> None:
    began = time.process_time()
    find_quantities(text)
    assert time.process_time() - began < 20, "minutes, if it were quadratic"


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("2,602", "2602", True),
        ("2,602", "The total was 2,602.", True),
        ("2,602", "In 1940 it was $2,602 million", True),  # only the answer states a unit: compatible
        (2602, "2,602", True),
        ("2,602", "2,603", False),
        ("2,602", "either 2,602 or 2,603", False),
        ("2,602", "2,602, that is 2602.0", True),
        ("2,602", "", False),
        ("2,602", "unable to determine", False),
        ("36080 million", "36,080", True),
        ("36080 million", "36.08 billion", True),
        ("36080 million", "36080 billion", False),
        ("5 million", "5 billion", False),
        ("5 million", "5,000,000", True),
        ("543000000", "543 million", True),
        ("5 kg", "5 lb", False),
        ("5 kg", "5", True),
        ("$5", "€5", False),
        ("$5", "5 dollars", True),
        ("12%", "12", True),
        ("12", "12 percent", True),
        ("12 %", "12 kg", False),
        ("12 kg", "12 %", False),
        ("12%", "0.12", False),
        ("(5.2)", "-5.2", True),
        ("-5.2", "5.2", False),
        ("1977", "in 1977", True),
        ("1977", "1977, not 1978", False),
        ("0", "0.0", True),
        ("0.3", "0.30000000000000004", True),
        (["3", "4"], "4", True),
        ("7", "1e999", False),
    ],
)
async def test_scores(gold: object, answer: str, right: bool) -> None:
    score = await score_answer("numeric", gold, answer)
    assert (score.hard, score.value) == (right, float(right))


@pytest.mark.parametrize(
    ("options", "gold", "answer", "right"),
    [
        ({"tolerance": 0.01}, "100", "101", True),
        ({"tolerance": 0.01}, "100", "101.5", False),
        ({"tolerance": 0.01}, "-100", "-99", True),
        ({"tolerance": 0.01}, "0", "0.001", False),
        ({"abs_tolerance": 0.5}, "0", "0.5", True),
        ({"abs_tolerance": 0.5}, "3 million", "3.4 million", True),
        ({"abs_tolerance": 0.5}, "3 million", "3.6 million", False),
        ({"unit": "million"}, "5", "5 billion", False),
        ({"unit": "million"}, "5", "5", True),
        ({"unit": "million"}, "5", "5,000,000", True),
        ({"unit": "kg"}, "5", "5 lb", False),
        ({"unit": "percent"}, "5", "5 %", True),
        ({"unit": "percent"}, "5", "5 kg", False),
        ({"answer_tag": "FINAL_ANSWER"}, "5", "12 steps\n<FINAL_ANSWER>5</FINAL_ANSWER>", True),
    ],
)
async def test_options(options: dict[str, object], gold: str, answer: str, right: bool) -> None:
    assert (await score_answer("numeric", gold, answer, **options)).hard is right


@pytest.mark.parametrize(
    ("gold", "answer", "feedback"),
    [
        ("5", "none", "no number in the answer"),
        ("5", "5 or 6", "the answer states several different numbers: give the one that was asked for"),
        ("5", "8", "wrong number"),
        ("5", "-5", "wrong number: check the sign, the scale and the unit"),
        ("5 million", "5 billion", "wrong number: check the sign, the scale and the unit"),
        ("2,602", "26.02", "wrong number: check the sign, the scale and the unit"),
    ],
)
async def test_feedback(gold: str, answer: str, feedback: str) -> None:
    assert (await score_answer("numeric", gold, answer)).feedback == feedback


@pytest.mark.parametrize("answer", [None, True, [], "March 1977", "1 to 2", "none", {"a": 1}, "1e999", "nan"])
def test_a_gold_that_is_no_number_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="answer:"):
        gold_quantities(answer, None)


@pytest.mark.parametrize("options", [{"tolerance": -1}, {"tolerance": float("nan")}, {"unit": "furlong"}, {"tol": 1}])
def test_wrong_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(TaskError, match=r"scorer\.(tolerance|unit|tol): "):
        check_scorer(task_for("numeric", "5", options=options))
