"""Runs a target: seeds, then what hypothesis makes of them, then as many more as there is time for.

Each input has a bound of processor time: a wall clock would blame a busy machine. What is wrong is told with a small
input that still does it. The last part is quick: hypothesis takes longer to think of an input than most readers to
read it.
"""

from __future__ import annotations

import random
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.fuzz.mutate import damaged, inputs, smaller
from tests.fuzz.target import Target

INPUT_CPU_S = 5.0
"""Of one input of at most 64 KiB: a hundred times what any takes."""
GROWTH_MB = 400.0
"""Of this process, from the first batch to the last: what a reader keeps for good, or holds at its worst."""
BATCH = 60


class HangError(AssertionError):
    """An input took more than its processor time."""


@dataclass
class Told:
    """What came of it."""

    name: str
    executions: int = 0
    refused: int = 0
    """Inputs that one of the stated errors answered."""
    wall_s: float = 0.0
    grown_mb: float = 0.0
    wrong: str = ""
    """Empty: nothing."""
    input: bytes = b""
    """What did it."""


def fuzz(one: Target, *, seconds: float = 0.0, examples: int = BATCH, more: int = 0, seed: int = 0) -> Told:
    """Fuzz a batch of `examples`, then `more`, and then for the rest of so many seconds."""
    told = Told(one.name)
    try:
        _fuzz(one, told, seconds=seconds, examples=examples, more=more, seed=seed)
        if told.wrong and "HangError" not in told.wrong:
            told.input = smaller(told.input, lambda part: not _once(one, part, Told(one.name)))
    finally:
        one.close()
    return told


def _fuzz(one: Target, told: Told, *, seconds: float, examples: int, more: int, seed: int) -> None:
    began = time.monotonic()
    seeds = list(one.seeds())
    strategy = inputs(seeds, one.tokens)
    for good in seeds:
        if not _once(one, good, told):
            return
    before = peak_mb()
    _batch(one, told, strategy, examples, seed)
    rng = random.Random(seed)
    more += told.executions
    while not told.wrong and (told.executions < more or time.monotonic() - began < seconds):
        _once(one, damaged(rng, seeds, one.tokens), told)
    told.wall_s, told.grown_mb = time.monotonic() - began, max(0.0, peak_mb() - before)
    if not told.wrong and told.grown_mb > GROWTH_MB:
        told.wrong = f"the process grew by {told.grown_mb:.0f} MB"


def _batch(one: Target, told: Told, strategy: st.SearchStrategy[bytes], examples: int, seed: int) -> None:
    """What hypothesis thinks of, and shrinks."""
    check = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(_checked(one, told)))
    try:
        seeded(seed)(check)()
    except Exception as error:
        told.wrong = told.wrong or f"{type(error).__name__}: {error}"


def _checked(one: Target, told: Told) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        if not _once(one, data, told):
            raise AssertionError(told.wrong)

    return check


def _once(one: Target, data: bytes, told: Told) -> bool:
    told.executions += 1
    try:
        with bounded(INPUT_CPU_S):
            one.run(data)
    except one.allowed:
        told.refused += 1
    except Exception as error:
        told.wrong, told.input = f"{type(error).__name__}: {error}"[:2_000], data
        return False
    return True


@contextmanager
def bounded(cpu_s: float) -> Iterator[None]:
    """Raises `HangError` in the body once it used so much processor time. Main thread only."""

    def late(_: int, __: FrameType | None) -> None:
        raise HangError(f"over {cpu_s:g} s of processor time")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def peak_mb() -> float:
    """The most memory that this process has had (resident)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
