from __future__ import annotations

import pytest

from daemon.tasks.scorers.choice import chosen
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.task import TaskError
from tests.support.tasks import score_answer, task_for

CHOICES = {"A": "one apple", "B": "two pears", "C": "Three.", "D": "", "E": "two pears"}


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        ("b", "B"),
        ("(B).", "B"),
        ("**B**", "B"),
        (r"$\boxed{\text{B}}$", "B"),
        ("B) because it is so", "B"),
        ("B. Because it is so", "B"),
        ("The answer is B", "B"),
        ("Final answer: b, since C is too much", "B"),
        ("option D", "D"),
        ("One  Apple", "A"),
        ("three", "C"),
        ("~]\x9b\x86B\x84\x1b\x01", None),  # bytes of a file
        ("B\x00", None),
        ("two pears", None),  # the text of two choices
        ("A", "A"),
        ("A good idea", None),
        ("A or B", None),
        ("A, B", None),
        ("A/B", None),
        ("A and C", None),
        ("B, because", "B"),
        ("I think C", None),
        ("Because", None),
        ("F", None),
        ("AB", None),
        ("", None),
        ("\u0410", None),  # a Cyrillic letter that looks like A
    ],
)
def test_the_label_is_read(answer: str, label: str | None) -> None:
    assert chosen(answer, CHOICES) == label


@pytest.mark.parametrize(
    ("gold", "answer", "hard", "feedback"),
    [
        ("B", "I weigh A against B.\n<answer>B</answer>", True, ""),
        ("b", "B", True, ""),
        (["B", "C"], "C", True, ""),
        ("B", "C", False, "a wrong choice"),
        ("B", "no idea", False, "the answer names no single choice: give its label alone"),
        ("B", "", False, "no answer was given"),
    ],
)
async def test_scores(gold: object, answer: str, hard: bool, feedback: str) -> None:
    score = await score_answer("multiple_choice", gold, answer, choices=CHOICES)
    assert (score.value, score.hard, score.feedback) == (float(hard), hard, feedback)


async def test_labels_may_be_numbers() -> None:
    choices = {"1": "red", "2": "blue"}
    assert (await score_answer("multiple_choice", 2, "2.", choices=choices)).hard
    assert not (await score_answer("multiple_choice", 2, "21", choices=choices)).hard


@pytest.mark.parametrize(
    ("answer", "choices", "complaint"),
    [
        ("Z", CHOICES, "answer: give the label of a choice, or a list of them: A, B"),
        ([], CHOICES, "answer: give the label"),
        (None, CHOICES, "answer: give the label"),
        ("A", {"A": "one"}, r"scorer\.choices: .*at least 2"),
        ("A", {"A": "one", "a": "two"}, r"scorer\.choices: has two labels that differ in case alone"),
        ("A", {"A": "one", "B C": "two"}, r"scorer\.choices"),
    ],
)
def test_wrong_tasks_are_refused(answer: object, choices: dict[str, str], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("multiple_choice", answer, options={"choices": choices}))
