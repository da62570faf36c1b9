"""A small part of the fuzzing, the same each time; and that the runner sees what it is there to see."""

from __future__ import annotations

import pytest

from tests.fuzz.gigabyte import READERS, read
from tests.fuzz.mutate import smaller
from tests.fuzz.registry import every_target
from tests.fuzz.runner import HangError, bounded, fuzz
from tests.fuzz.target import Target

EXAMPLES = {"git-log": 4}
"""Fewer where each takes long."""


@pytest.mark.hostile
@pytest.mark.parametrize("one", every_target(), ids=lambda one: one.name)
def test_nothing_but_the_stated_errors(one: Target) -> None:
    told = fuzz(one, examples=EXAMPLES.get(one.name, 12), more=EXAMPLES.get(one.name, 150))
    assert not told.wrong, (told.wrong, told.input[:2_000])
    assert told.executions > EXAMPLES.get(one.name, 100)


def made(run: object, *allowed: type[Exception]) -> Target:
    return Target("made-up", "", lambda: [b'{"a": [1, "x"]}\nline\n'], run, allowed)  # type: ignore[arg-type]


def test_an_error_that_was_not_stated_is_told_with_a_small_input() -> None:
    def breaks(data: bytes) -> None:
        if b"x" not in data:
            raise KeyError("no x")

    told = fuzz(made(breaks), examples=200, more=500)
    assert told.wrong.startswith("KeyError")
    assert b"x" not in told.input
    assert len(told.input) < 20


def test_stated_errors_are_counted() -> None:
    def refuses(data: bytes) -> None:
        raise ValueError(data)

    told = fuzz(made(refuses, ValueError), examples=5)
    assert (told.wrong, told.refused) == ("", told.executions)


def test_a_hang_is_told() -> None:
    def hangs() -> None:
        while True:
            pass

    with pytest.raises(HangError), bounded(0.05):
        hangs()


def test_an_input_is_made_smaller() -> None:
    assert smaller(b"some text with a Q in it", lambda part: b"Q" in part) == b"Q"


@pytest.mark.parametrize("what", sorted(READERS))
def test_memory_does_not_grow_with_a_session(what: str) -> None:
    read(what, 1_000_000)
    one = read(what, 5_000_000)
    assert one.peak_mb - one.began_mb < 40, one
