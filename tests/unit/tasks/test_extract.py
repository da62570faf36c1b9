from __future__ import annotations

import time

import pytest
from pydantic import ValidationError

from daemon.tasks.scorers.extract import MAX_CHARS, ExtractOptions, extract_answer
from daemon.tasks.scorers.scorer import VerifierError


@pytest.mark.parametrize(
    ("message", "options", "answer"),
    [
        ("thinking\n\n  42 \n\n", {}, "42"),
        ("<answer>a</answer> then <Answer> b </ANSWER> bye", {}, "b"),
        ("<answer>open", {}, "<answer>open"),
        ("</answer> 7 <answer>", {}, "</answer> 7 <answer>"),
        ("<answer></answer>", {}, ""),
        ("<final>x</final>", {"answer_tag": "final"}, "x"),
        ("<answer>x</answer>", {"answer_tag": None}, "<answer>x</answer>"),
        ("one\ntwo", {"fallback": "all"}, "one\ntwo"),
        ("", {}, ""),
        ("Seat: Stane\nseat: Upper Stane.", {"extract": r"(?i)seat: (.+)\."}, "Upper Stane"),
        ("x=1 x=2", {"extract": r"x=\d"}, "x=2"),
        ("nothing here <answer>5</answer>", {"extract": r"x=\d"}, ""),
        ("a\ud800b", {"extract": "b"}, "b"),
    ],
)
async def test_the_answer_is_found(message: str, options: dict[str, object], answer: str) -> None:
    assert await extract_answer(message, ExtractOptions.model_validate(options)) == answer


async def test_case_folding_that_changes_lengths_does_not_shift_the_answer() -> None:
    assert await extract_answer("İİİ <answer>ok</answer>", ExtractOptions()) == "ok"


async def test_only_the_end_of_a_huge_message_is_read() -> None:
    message = "<answer>early</answer>" + "x" * MAX_CHARS + "\nlate"
    assert await extract_answer(message, ExtractOptions()) == "late"


async def test_many_open_tags_cost_no_time() -> None:
    began = time.process_time()
    await extract_answer("<answer>" * 100_000, ExtractOptions())
    assert time.process_time() - began < 20, "minutes, if it were quadratic"


async def test_a_pattern_that_hangs_is_our_failure() -> None:
    with pytest.raises(VerifierError, match="extract: the pattern ran longer than"):
        await extract_answer("a" * 64 + "!", ExtractOptions(extract="(?:a+)+$"))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"extract": "("}, "not a regular expression"),
        ({"extract": "(a)(b)"}, "more than one group"),
        ({"answer_tag": "a b"}, "answer_tag"),
        ({"fallback": "first_line"}, "fallback"),
        ({"tag": "x"}, "tag"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        ExtractOptions.model_validate(options)
