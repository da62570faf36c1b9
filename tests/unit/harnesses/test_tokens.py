"""The token estimate, and how a budget is shared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harnesses.traces.tokens import shares, tokens


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("word " * 400, 450, 550),
        ("слово " * 100, 300, 500),
        ("表格里的日期" * 100, 500, 700),
        ("\U0001f600" * 30, 30, 60),
    ],
)
def test_the_estimate_is_near_what_tokenizers_say(text: str, least: int, most: int) -> None:
    assert least <= tokens(text) <= most


def test_text_beyond_ascii_costs_more_a_character() -> None:
    assert tokens("ж" * 100) > 2 * tokens("z" * 100)


@given(st.text(), st.text())
def test_more_text_never_costs_less(one: str, other: str) -> None:
    assert tokens(one + other) >= max(tokens(one), tokens(other))
    assert (tokens(one) == 0) == (one == "")


def test_small_needs_leave_their_rest_to_large_ones() -> None:
    assert shares([10, 500, 20, 400], 630) == (10, 300, 20, 300)
    assert shares([100, 100], 1_000) == (100, 100)
    assert shares([50, 50, 50], 30) == (10, 10, 10)
    assert shares([], 5) == ()
    assert shares([5, 5], -3) == (0, 0)


@given(st.lists(st.integers(0, 5_000), max_size=12), st.integers(0, 20_000))
def test_shares_are_fair_and_within_the_budget(needs: list[int], budget: int) -> None:
    given_out = shares(needs, budget)
    assert sum(given_out) <= budget
    assert all(0 <= part <= need for part, need in zip(given_out, needs, strict=True))
    short = [part for part, need in zip(given_out, needs, strict=True) if part < need]
    if short:
        assert sum(given_out) > budget - len(needs)  # nothing to speak of is left lying
        assert max(given_out) - min(short) <= len(needs)  # nobody who is short has less than another one got
