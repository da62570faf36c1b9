"""The figure of a cell: mean and standard error over valid tasks; invalid ones are counted by outcome."""

from __future__ import annotations

import math

import pytest

from daemon.cli.bench_figures import figures, standard_error
from harnesses.outcome import Outcome
from tests.support.optimizer import make_result


def test_the_standard_error_is_that_of_the_mean() -> None:
    assert standard_error([1.0, 0.0, 0.0, 1.0]) == pytest.approx(math.sqrt(1 / 3 / 4))
    assert standard_error([0.5, 0.5]) == 0.0
    assert standard_error([1.0]) is None
    assert standard_error([]) is None


def test_hard_and_soft_are_both_told_and_one_is_the_score() -> None:
    results = [make_result("a", 1.0), make_result("b", 0.5), make_result("c", 0.0)]
    hard, soft = figures(results, "hard"), figures(results, "soft")
    assert (hard.score, hard.hard, hard.soft) == (pytest.approx(1 / 3), pytest.approx(1 / 3), 0.5)
    assert soft.score == 0.5
    assert hard.error is not None
    assert soft.error is not None
    assert hard.error > soft.error > 0


def test_invalid_attempts_are_in_no_mean_and_counted_by_outcome() -> None:
    lost = [make_result(name, None, outcome=outcome) for name, outcome in INVALID]
    cell = figures([make_result("a", 1.0), *lost], "hard")
    assert (cell.score, cell.error, cell.valid, cell.of) == (1.0, None, 1, 4)
    assert cell.invalid == {"rate_limit": 2, "auth": 1}
    assert list(cell.invalid) == ["rate_limit", "auth"]


INVALID = (("b", Outcome.AUTH), ("c", Outcome.RATE_LIMIT), ("d", Outcome.RATE_LIMIT))


def test_nothing_valid_is_no_figure_at_all() -> None:
    cell = figures([make_result("b", None, outcome=Outcome.RATE_LIMIT)], "soft")
    assert (cell.score, cell.hard, cell.soft, cell.error) == (None, None, None, None)
