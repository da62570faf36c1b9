from __future__ import annotations

import pytest

from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.task import TaskError
from tests.support.tasks import score_answer, task_for


@pytest.mark.parametrize(
    ("options", "answer", "value", "feedback"),
    [
        ({"all": ["a", r"\d"]}, "a 1", 1.0, ""),
        ({"all": ["a", r"\d"]}, "a", 0.5, "1 of 2 patterns that the answer must fit do not"),
        ({"none": ["sorry"]}, "fine", 1.0, ""),
        ({"none": ["sorry"]}, "", 0.0, "no answer was given"),
        (
            {"all": ["a"], "none": ["b"]},
            "b",
            0.0,
            "1 of 2 patterns that the answer must fit do not; 1 of 2 patterns that it must not fit do",
        ),
        ({"all": ["a+"], "whole": True}, "aaa", 1.0, ""),
        ({"all": ["a+"], "whole": True}, "aab", 0.0, "1 of 1 patterns that the answer must fit do not"),
        ({"all": ["(?s)one.two"]}, "one\ntwo", 1.0, ""),
        ({"all": ["^b$"]}, "x <answer>b</answer>", 1.0, ""),
    ],
)
async def test_scores(options: dict[str, object], answer: str, value: float, feedback: str) -> None:
    score = await score_answer("regex", None, answer, **options)
    assert (score.value, score.hard, score.feedback) == (value, value == 1.0, feedback)


async def test_a_pattern_without_end_is_invalid_and_no_score() -> None:
    with pytest.raises(VerifierError, match="option all or none: the pattern ran longer than 1 s: make it simpler"):
        await score_answer("regex", None, "a" * 64 + "!", all=["^(?:a+)+$"])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, r"scorer\.all: give at least one pattern"),
        ({"all": ["("]}, r"scorer\.all\.0: is not a regular expression: missing \)"),
        ({"none": ["a", ""]}, r"scorer\.none\.1: "),
        ({"all": "a"}, r"scorer\.all: "),
        ({"any": ["a"]}, r"scorer\.any: .*regex takes extract, .*all, none, whole"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("regex", options=options))
