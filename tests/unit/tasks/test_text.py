from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.tasks.scorers.text import accepted_answers, exact, squad_normalise, token_f1
from tests.support.tasks import score_answer


@pytest.mark.parametrize(
    ("predicted", "gold", "equal"),
    [
        ("Red Cent", "red cent", True),
        ("the red cent.", "A red cent", True),
        ("red  cent\n", "red cent", True),
        ('"red cent"', "red cent", True),
        ("red-cent", "redcent", True),  # the official rule drops punctuation without leaving a space
        ("red cents", "red cent", False),
        ("not a red cent", "red cent", False),
        ("", "red cent", False),
        ("the", "The", True),  # normalises to nothing: compared in lower case
        ("a", "The", False),
        ("", "The", False),
    ],
)
def test_exact_follows_the_squad_rule(predicted: str, gold: str, equal: bool) -> None:
    assert exact(predicted, gold) is equal


def test_unicode_punctuation_is_kept_as_in_the_official_code() -> None:
    assert squad_normalise("“the penny”") == "“ penny”"


@pytest.mark.parametrize(
    ("predicted", "gold", "f1"),
    [
        ("red cent", "red cent", 1.0),
        ("red", "red cent", 2 / 3),
        ("red red", "red cent", 0.5),
        ("blue", "red cent", 0.0),
        ("", "red cent", 0.0),
    ],
)
def test_token_f1(predicted: str, gold: str, f1: float) -> None:
    assert token_f1(predicted, gold) == pytest.approx(f1)


@given(st.text(max_size=60), st.text(max_size=60))
def test_f1_is_a_share_and_symmetric(one: str, other: str) -> None:
    assert 0.0 <= token_f1(one, other) <= 1.0
    assert token_f1(one, other) == pytest.approx(token_f1(other, one))


async def test_any_accepted_answer_counts() -> None:
    golds = ["Old Marrow", "Marrow-on-Sea"]
    assert (await score_answer("exact_match", golds, "marrow on sea")).hard is False
    assert (await score_answer("exact_match", golds, "marrow-on-sea")).hard is True
    assert (await score_answer("exact_match", golds, "OLD MARROW")).value == 1.0


async def test_f1_is_the_soft_score_and_exact_match_the_hard_one() -> None:
    score = await score_answer("token_f1", "steady hands and a quiet keel", "steady hands")
    assert score.value == pytest.approx(4 / 7)
    assert score.hard is False
    assert (await score_answer("exact_match", "steady hands and a quiet keel", "steady hands")).value == 0.0


@pytest.mark.parametrize(
    ("answer", "feedback"),
    [
        ("", "no answer was given"),
        ("I believe it is Port Alder", "the answer says more than was asked for: give the bare answer"),
        ("Port Holm", "the answer is only partly right"),
        ("Lowfold", "wrong answer"),
        ("Port Alder", ""),
    ],
)
async def test_feedback_names_what_failed(answer: str, feedback: str) -> None:
    assert (await score_answer("exact_match", "Port Alder", answer)).feedback == feedback


@pytest.mark.parametrize("answer", [None, [], [""], "  ", [None], {"a": 1}, True])
def test_an_answer_nothing_can_meet_is_refused(answer: object) -> None:
    with pytest.raises(ValueError, match="answer:"):
        accepted_answers(answer)


def test_numbers_may_be_accepted_texts() -> None:
    assert accepted_answers([1889, "1889"]) == ("1889", "1889")
