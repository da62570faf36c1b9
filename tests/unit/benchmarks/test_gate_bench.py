"""The gate benchmark: its worlds are what it says, and its figures have the names that others read."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.benchmarks.__main__ import BENCHMARKS
from tests.benchmarks.gate import MIX, RUNS, Case, Part, figures, lifted, measure, rates


@pytest.mark.parametrize("n", [24, 50])
def test_a_good_candidate_gains_ten_points_on_a_fifth_of_the_tasks(n: int) -> None:
    for seed in range(50):
        base = rates(seed, n)
        better = lifted(seed, base)
        assert fmean(better) - fmean(base) == pytest.approx(0.1)
        assert sum(new != old for old, new in zip(base, better, strict=True)) == round(0.2 * n)
        assert all(0 <= rate <= 1 for rate in better)


def test_the_split_is_always_never_and_flaky() -> None:
    base = rates(1, 50)
    assert (base.count(1.0), base.count(0.0)) == (20, 15)
    assert all(0.2 <= rate <= 0.8 for rate in base[35:])
    assert rates(1, 50) == base != rates(2, 50)


def test_at_least_200_runs_and_candidates_of_every_kind() -> None:
    assert RUNS >= 200
    assert sum(MIX.values()) == pytest.approx(1)
    assert "gate" in BENCHMARKS


def test_the_figures_are_shares_of_the_cases() -> None:
    cases = [
        Case(rule, kind, accepted, attempts, changed=rule == "strict" and kind == "good")
        for rule in ("strict", "paired")
        for kind, accepted, attempts in (("no_op", False, 10), ("good", True, 100), ("harmful", False, 20))
    ]
    found = figures([Part(cases, [case for case in cases if case.kind == "good"], {"strict": [4.0], "paired": [1.0]})])
    assert {name.split(".", 2)[2] for name in found} >= {
        *("no_op", "power_24", "power_50", "bias_points", "attempts_share", "lossless_changed")
    }
    assert (found["gate.paired.no_op"].value, found["gate.paired.power_24"].value) == (0, 1)
    assert found["gate.paired.attempts_share"].value == pytest.approx((0.7 * 10 + 0.2 * 20 + 0.1 * 100) / 72)
    assert found["gate.strict.bias_points"].value == 4
    assert found["gate.strict.lossless_changed"].value == 2


def test_a_run_goes_through_the_real_parts_and_repeats_itself() -> None:
    first = measure(0, 1)
    assert len(first.small) == 2 * len(MIX)
    assert measure(0, 1) == first
