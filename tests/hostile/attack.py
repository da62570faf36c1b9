"""What an attack is.

Invariants: an attack returns what it observed when the promise held, and raises `BrokenError` when it did not:
whoever writes one asserts on the observation, never on the intention. One that cannot be tried here raises
`UntriedError`, which is not a pass. An attack that only ever says "held" is a defect: each has a control in its
subject's tests, or does first what an attacker without the wall would succeed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Area(StrEnum):
    """The promise that an attack is about; the order is the table's."""

    SANDBOX = "sandbox"
    GATEWAY = "gateway"
    COLLECTION = "collection"
    VERIFICATION = "verification"
    OPTIMIZER = "optimizer"
    FAILURES = "failures"
    HANDLING = "handling"


class BrokenError(AssertionError):
    """The promise did not hold; the message is what was observed."""


class UntriedError(Exception):
    """This machine cannot try the attack; the message says what is missing."""


@dataclass(frozen=True)
class Stage:
    """What an attack is given: a new folder of its own, removed afterwards, and a stack for what it opens."""

    folder: Path
    stack: AsyncExitStack
    owner: str
    """Label of containers and control groups of this attack alone; what is left of them afterwards breaks it."""


Attempted = Callable[[Stage], Awaitable[str]]


@dataclass(frozen=True)
class Attack:
    """One row of the table."""

    area: Area
    name: str
    """`kebab-case`, unique; made of the function's name."""
    attack: str
    """What the attacker does, in a line."""
    expected: str
    """What must be seen, in a line."""
    run: Attempted
    needs_engine: bool
    """Runs in real Docker containers: such attacks are left out of the everyday tests, which have their own."""


_found: dict[str, Attack] = {}


def attack(area: Area, what: str, *, expected: str, needs_engine: bool = False) -> Callable[[Attempted], Attempted]:
    """Register an `async def name_of_attack(stage) -> str` whose result is what was observed."""

    def register(run: Attempted) -> Attempted:
        add(Attack(area, run.__name__.replace("_", "-"), what, expected, run, needs_engine))
        return run

    return register


def add(made: Attack) -> None:
    """Register an attack made by hand, as rows of a table are."""
    if made.name in _found:
        raise ValueError(f"two attacks are called {made.name}")
    _found[made.name] = made


def found() -> tuple[Attack, ...]:
    """All that have been registered, by area and then by name."""
    areas = list(Area)
    return tuple(sorted(_found.values(), key=lambda one: (areas.index(one.area), one.name)))


def holds(true: object, observed: str) -> str:
    """`observed`, or `BrokenError` with it."""
    if not true:
        raise BrokenError(observed)
    return observed
