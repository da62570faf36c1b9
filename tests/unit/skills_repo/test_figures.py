"""The gate's trailer reads back as it was written, and nothing is read out of what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills_repo.edits import Edit, Op
from skills_repo.figures import parse_gate
from skills_repo.message import EditNote, GateFigures, compose, parse_trailers

SCORES = st.floats(0, 1).map(lambda value: round(value, 3))


def written(gate: GateFigures) -> str:
    note = EditNote("r", 1, 1, 1, "s", "d", Edit(Op.APPEND, content="c"), gate, "t", "o")
    return parse_trailers(compose(note))["Honed-Gate"]


@given(SCORES, SCORES, st.none() | SCORES, st.none() | st.floats(-1, 1).map(lambda value: round(value, 3)))
def test_what_is_written_is_read_back(before: float, after: float, error: float | None, share: float | None) -> None:
    gate = GateFigures("paired/hard", 24, 3, before, after, 0.96, "selection", error, share)
    assert parse_gate(written(gate)) == gate


def test_a_start_that_was_never_measured_has_a_rule_alone() -> None:
    assert parse_gate(written(GateFigures("given"))) == GateFigures("given")


@pytest.mark.parametrize("text", ["", "accepted", "rule=", "before=0.5 after=0.6", "rule"])
def test_without_a_rule_there_are_no_figures(text: str) -> None:
    assert parse_gate(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "before=nan after=0.5",
        "before=0.5 after=inf",
        "before=0.5",
        "before=0.5 after=7",
        "before=0x1 after=0.5",
        "before=1e5 after=0.5",
        "before=-9.0 after=0.5",
    ],
)
def test_what_is_no_score_is_left_out(text: str) -> None:
    found = parse_gate(f"accepted rule=strict n=3xx valid=many% {text}")
    assert found == GateFigures("strict")
