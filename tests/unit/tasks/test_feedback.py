"""No scorer's feedback shows gold, and the firewall stops one that would."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.tasks.feedback import WITHHELD, bare, shows_gold, without_gold
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.compare import compare, read_gold
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.task import Score
from tests.support.tasks import GOLDEN, book, left, task_for

TEXT_TASKS = load_tasks(GOLDEN / "qa").tasks


@pytest.mark.parametrize(
    ("text", "answer", "shown"),
    [
        ("expected Port Alder", "Port Alder", True),
        ("expected port-alder!", "Port Alder", True),
        ("expected \uff30\uff2f\uff32\uff34 alder", "Port Alder", True),
        ("expected 2602", "2,602", True),
        ("expected 2,602", 2602, True),
        ("one of a, b, Old Marrow", ["x", "Old Marrow"], True),
        ("cell B2 should be 41.75", {"B2": 41.75}, True),
        ("wrong answer", "Port Alder", False),
        ("the answer is no", "no", False),  # too short to look for
        ("3 of 8 cells", 3, False),
        ("anything", None, False),
        ("it is true", True, False),
    ],
)
def test_gold_is_seen_through_spacing_case_and_width(text: str, answer: object, shown: bool) -> None:
    assert shows_gold(text, answer) is shown


def test_feedback_that_shows_gold_is_withheld_as_a_whole() -> None:
    score = Score(value=0.5, hard=False, feedback="you should have said Port Alder", detail={"gold": "Port Alder"})
    safe = without_gold(score, task_for("exact_match", "Port Alder"))
    assert safe.feedback == WITHHELD
    assert (safe.value, safe.detail) == (0.5, {"gold": "Port Alder"})


def test_a_gold_that_is_part_of_the_notice_leaves_nothing() -> None:
    score = Score(value=0.0, hard=False, feedback="wrong answer")
    assert without_gold(score, task_for("exact_match", "wrong")).feedback == ""


def test_harmless_feedback_is_left_alone() -> None:
    score = Score(value=0.0, hard=False, feedback="wrong answer")
    assert without_gold(score, task_for("exact_match", "Port Alder")) is score


@given(st.data())
@settings(deadline=None)
async def test_text_scorers_never_show_gold(data: st.DataObject) -> None:
    task = data.draw(st.sampled_from([task for task in TEXT_TASKS if "extract" not in task.scorer.options]))
    words = st.sampled_from([*str(task.answer).split(), "perhaps", "5", "million", "-", "no", "41.5", "<answer>"])
    answer = " ".join(data.draw(st.lists(words, max_size=8)))
    score = await score_task(task, left(answer))
    assert not shows_gold(score.feedback, task.answer)


VALUES = st.one_of(
    st.none(),
    st.integers(10_000, 10**9),
    st.text(alphabet="qwxzvk", min_size=5, max_size=12),
    st.floats(1e4, 1e9).map(lambda number: round(number, 3)),
)


@given(st.lists(VALUES, min_size=6, max_size=6), st.lists(VALUES, min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_spreadsheet_feedback_never_shows_a_gold_cell(gold: list[object], given: list[object]) -> None:
    ranges = parse_ranges("Sheet1!A1:A3,Sheet1!B1:B3")
    names = ("A1", "A2", "A3", "B1", "B2", "B3")
    expected = read_gold(book(**dict(zip(names, gold, strict=True))), ranges)
    comparison = compare(book(**dict(zip(names, given, strict=True))), ranges, expected)
    feedback = comparison.feedback
    assert bool(feedback) is (comparison.wrong > 0)
    assert not [value for value in gold if value is not None and bare(str(value)) in bare(feedback)]
