"""The OfficeQA reward: made-up answers, with what the official code says of each (`ROWS`)."""

from __future__ import annotations

import json

import pytest

from daemon.tasks.scorers.officeqa import final_answer, wrong
from daemon.tasks.scorers.officeqa_numbers import list_fits, numbers_in
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.task import TaskError
from tests.support.tasks import REPOSITORY, score_answer, task_for

ROWS: list[tuple[str, str, float, bool]] = json.loads(
    REPOSITORY.joinpath("tests/golden/scorers/officeqa.json").read_text("utf-8")
)


@pytest.mark.parametrize(("gold", "answer", "tolerance", "right"), ROWS)
async def test_verdicts_are_the_official_ones(gold: str, answer: str, tolerance: float, right: bool) -> None:
    score = await score_answer("officeqa", gold, answer, tolerance=tolerance)
    assert (score.hard, score.value) == (right, float(right))
    assert bool(score.feedback) is not right


def test_there_are_both_kinds() -> None:
    assert 20 < sum(right for *_, right in ROWS) < len(ROWS) - 20


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("12", "12"),
        ("<FINAL_ANSWER>1</FINAL_ANSWER> then <final_answer> 2 </final_answer> end", "2"),
        ("<FINAL_ANSWER>a<FINAL_ANSWER>b</FINAL_ANSWER>", "a<FINAL_ANSWER>b"),
        ("<FINAL_ANSWER>open", "<FINAL_ANSWER>open"),
        ("<FINAL_ANSWER></FINAL_ANSWER>", ""),
    ],
)
def test_the_final_answer(message: str, answer: str) -> None:
    assert final_answer(message) == answer


@pytest.mark.parametrize(
    ("gold", "answer", "why"),
    [
        ("5", "", "no answer was given"),
        ("5", "5\n6", "no direct answer: give it alone, on one short line"),
        ("5", "5 or 6", "not as many numbers as were asked for"),
        ("5", "<b>5</b>", "no direct answer: leave out the markup"),
        ("5", "6", "wrong number: check the sign, the scale and the unit"),
        ("June 1962", "1962", "right number, wrong words"),
        ("[1, 2]", "2, 1", "a wrong number in the list, or a wrong order"),
        ("Fund", "7", "a number where a text was asked for"),
        ("Fund", "Trust", "wrong text"),
    ],
)
def test_what_is_wrong_is_said(gold: str, answer: str, why: str) -> None:
    assert wrong(gold, answer) == why


def test_numbers_have_their_surroundings() -> None:
    assert numbers_in("about $1,234.5 million in (1940)") == [
        (1234.5, "about 1234.5 million in (1940)"),
        (1940.0, " 1234.5 million in (1940)"),
    ]


def test_cutting_a_long_list_takes_no_time() -> None:
    assert not list_fits(",".join(["100"] * 60), [lambda value: value < 0] * 20)


async def test_any_accepted_answer_will_do() -> None:
    assert (await score_answer("officeqa", ["5", "June 1962"], "June 1962")).hard


def test_wrong_options_are_refused() -> None:
    with pytest.raises(TaskError, match=r"scorer\.tolerance: "):
        check_scorer(task_for("officeqa", "5", options={"tolerance": 2}))
