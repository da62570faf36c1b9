from __future__ import annotations

import pytest

from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.scorers.substring import holds
from daemon.tasks.task import TaskError
from tests.support.tasks import score_answer, task_for


@pytest.mark.parametrize(
    ("text", "gold", "anywhere", "as_words"),
    [
        ("It is in Port Alder.", "port alder", True, True),
        ("The PORT-ALDER, plant", "portalder", True, True),
        ("a party", "art", True, False),
        ("", "art", False, False),
        ("the", "a", False, False),
        ("The Who", "The", True, True),
        ("nothing", "The", False, False),
        ("an  apple\n pie", "apple pie", True, True),
        ("Straße", "strasse", False, False),
    ],
)
def test_holds(text: str, gold: str, anywhere: bool, as_words: bool) -> None:
    assert holds(text, gold) is anywhere
    assert holds(text, gold, whole_words=True) is as_words


@pytest.mark.parametrize(
    ("answer", "hard", "feedback"),
    [
        ("We asked around.\nIt was Juan Reyes, they say.\nBye", True, ""),
        ("<answer>Juan</answer> or Juan Reyes", False, "the answer does not name what was asked for"),
        ("", False, "no answer was given"),
    ],
)
async def test_scores(answer: str, hard: bool, feedback: str) -> None:
    score = await score_answer("substring", ["J. Reyes", "Juan Reyes"], answer)
    assert (score.value, score.hard, score.feedback) == (float(hard), hard, feedback)


def test_an_empty_gold_is_refused() -> None:
    with pytest.raises(TaskError, match="answer: an accepted answer is empty"):
        check_scorer(task_for("substring", " "))
