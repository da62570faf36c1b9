"""ANLS against the rule as it was published, written out plainly here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.tasks.scorers.anls import similarity
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.task import TaskError
from tests.support.scorers import published_anls
from tests.support.tasks import score_answer, task_for


@given(st.text("aAbB .\u0130é\n", max_size=12), st.text("aAbB .\u0130é\n", max_size=12))
def test_similarity_is_the_published_one(predicted: str, gold: str) -> None:
    assert similarity(predicted, gold) == published_anls(predicted, gold)


@pytest.mark.parametrize(
    ("predicted", "gold", "value"),
    [
        ("March 2, 1951", "march 2,  1951 ", 1.0),
        ("March 2 1951", "March 2, 1951", 1 - 1 / 13),  # punctuation counts
        ("abcd", "abxy", 0.0),  # exactly one half apart
        ("abc", "abx", 1 - 1 / 3),
        ("", "abc", 0.0),
        ("2485", "2,485", 0.8),
        ("x" * 20_000, "abc", 0.0),
    ],
)
def test_cases(predicted: str, gold: str, value: float) -> None:
    assert similarity(predicted, gold) == pytest.approx(value)


@pytest.mark.parametrize(
    ("options", "answer", "value", "hard", "feedback"),
    [
        ({}, "J Reyes", 7 / 8, False, "nearly right: copy the text exactly as it stands"),
        ({"pass_at": 0.8}, "J Reyes", 7 / 8, True, ""),
        ({"threshold": 0.1}, "J Reyes", 0.0, False, "wrong answer"),
        ({}, "Let me see.\n<answer>juan reyes</answer>", 1.0, True, ""),
        ({}, "", 0.0, False, "no answer was given"),
    ],
)
async def test_scores(options: dict[str, float], answer: str, value: float, hard: bool, feedback: str) -> None:
    score = await score_answer("anls", ["J. Reyes", "Juan Reyes"], answer, **options)
    assert (score.value, score.hard, score.feedback) == (pytest.approx(value), hard, feedback)


@pytest.mark.parametrize("options", [{"threshold": 0}, {"threshold": 1.5}, {"pass_at": float("nan")}])
def test_wrong_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(TaskError, match=r"scorer\.(threshold|pass_at): .*anls takes"):
        check_scorer(task_for("anls", "x", options=options))
