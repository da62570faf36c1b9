"""Sixteen steps in which no edit does anything: strict keeps some and believes its luck, paired hardly any."""

from __future__ import annotations

import statistics

from tests.worlds.idle import idle_run

SEEDS = range(4)
"""`make bench` weighs more of them."""


def test_strict_keeps_no_ops_and_believes_its_luck_and_paired_does_not() -> None:
    strict = [idle_run(seed, {"gate": "strict"}) for seed in SEEDS]
    paired = [idle_run(seed, {"gate": "paired"}) for seed in SEEDS]
    judged = sum(run.judged for run in paired)
    assert judged > 10 * len(SEEDS)
    assert sum(run.accepted for run in paired) <= 0.05 * judged
    assert sum(run.accepted for run in strict) > sum(run.accepted for run in paired)
    assert 100 * statistics.fmean(run.bias for run in strict) > 4
    assert abs(100 * statistics.fmean(run.bias for run in paired)) < 2
