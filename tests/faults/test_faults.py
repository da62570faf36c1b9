"""The fault runs' own parts: faults are drawn by seed and content, and a run that decides differently is seen."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from tests.faults.dice import Dice
from tests.faults.pair import Rates, compare
from tests.faults.project import Plan
from tests.faults.record import Record, differences

TRUE = Record(
    refs={"refs/heads/honed/text": [("tree", "Say it\n\nHoned-Cost: attempts=12 tokens=3956 usd=0.0000")]},
    decisions={"r/1/step": {"outcome": "accepted", "verdict": {"rows": [{"task_id": "a", "before": 0.0}]}}},
    scores={"key": ("completed", 1.0, 1, "")},
)


def test_the_same_seed_draws_the_same_in_any_order() -> None:
    asked = [f"request {number}" for number in range(200)] * 2
    one, other = Dice("7", 0.3, "abc"), Dice("7", 0.3, "abc")
    first = sorted((what, one.draw(what)) for what in asked)
    second = sorted((what, other.draw(what)) for what in reversed(asked))
    assert first == second
    assert set("abc") == set(one.counts)
    assert 60 < one.counts.total() < 180
    assert one.asked == len(asked)
    assert Dice("7", 0.0, "abc").draw("x") == ""


def test_equal_records_are_equal() -> None:
    assert differences(TRUE, copy.deepcopy(TRUE)) == []


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("refs", "refs/heads/honed/text", 0), ("other", "Say it"), "refs/heads/honed/text"),
        (("decisions", "r/1/step", "verdict", "rows", 0, "before"), 1.0, ".verdict.rows[0].before"),
        (("decisions", "r/2/step"), {}, "only with faults"),
        (("scores", "key"), ("completed", 0.0, 0, ""), "attempt key"),
        (("refs", "refs/honed/rejected/text/r.1"), [], "only with faults"),
    ],
)
def test_whatever_differs_is_told(path: tuple[str | int, ...], value: object, told: str) -> None:
    changed = copy.deepcopy(TRUE)
    place = getattr(changed, str(path[0]))
    for key in path[1:-1]:
        place = place[key]
    place[path[-1]] = value
    assert any(told in line for line in differences(TRUE, changed))


def test_a_failure_with_a_score_is_told() -> None:
    scored = Record(TRUE.refs, TRUE.decisions, TRUE.scores, scored_failures=("a-1: overloaded",))
    assert differences(TRUE, scored) == ["scored though it failed: a-1: overloaded"]


@pytest.mark.slow
async def test_a_run_under_many_faults_decides_as_without(tmp_path: Path) -> None:
    pair = await compare(tmp_path, Plan.of(1), Rates(model=0.2, sandbox=0.2))
    assert pair.differences == ()
    assert pair.counts["boxes failed"]
    assert pair.counts["requests failed"]
    assert pair.counts["attempts invalid"]
    assert pair.counts["decisions"] > 3
