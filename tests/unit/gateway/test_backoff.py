"""Waiting between tries is jittered, honours the server's word, and ends."""

from __future__ import annotations

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.gateway.backoff import CEILING_S, Plan, next_wait, retry_after

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": formatdate(NOW + 90, usegmt=True)}, 90.0),
        ({"retry-after": formatdate(NOW - 90, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Someday, 99 Foo 2026"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_reads_the_servers_word(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == (None if seconds is None else pytest.approx(seconds, abs=1))


@given(
    tries=st.integers(1, 30),
    budget=st.floats(0, 500),
    seed=st.integers(0, 9),
    asked=st.lists(st.none() | st.floats(0, 100), max_size=40),
)
def test_ends_within_its_bounds_whatever_is_asked(
    tries: int, budget: float, seed: int, asked: list[float | None]
) -> None:
    rng, plan = random.Random(seed), Plan(tries, budget)
    failed, waited = 0, 0.0
    for wish in [*asked, *[None] * 40]:
        failed += 1
        wait = next_wait(plan, failed=failed, waited_s=waited, asked_s=wish, rng=rng)
        if wait is None:
            break
        assert wait >= min(wish or 0.0, budget - waited)
        waited += wait
    assert failed <= tries
    assert waited <= budget + 1e-6


def test_waits_grow_up_to_a_ceiling() -> None:
    plan = Plan(100, 1e9)
    longest = [
        max(
            next_wait(plan, failed=failed, waited_s=0, asked_s=None, rng=random.Random(seed)) or 0
            for seed in range(200)
        )
        for failed in (1, 2, 3, 50)
    ]
    assert longest == sorted(longest)
    assert longest[0] <= 0.5
    assert 0.9 * CEILING_S < longest[-1] <= CEILING_S


def test_gives_up_at_once_when_asked_to_wait_too_long() -> None:
    plan, rng = Plan(9, 10.0), random.Random(1)
    assert next_wait(plan, failed=1, waited_s=4, asked_s=6.5, rng=rng) is None
    assert next_wait(plan, failed=1, waited_s=4, asked_s=5.9, rng=rng) == pytest.approx(6, abs=0.11)
