"""What is fuzzed: bytes go in, and nothing but the stated errors may come out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Run = Callable[[bytes], None]
"""Reads one input; raises one of the allowed errors, or an `AssertionError` where a promise is broken."""


@dataclass(frozen=True)
class Target:
    """One reader of hostile bytes."""

    name: str
    what: str
    """What reads them, in a line."""
    seeds: Callable[[], Sequence[bytes]]
    """Good inputs, which are then damaged; small ones."""
    run: Run
    allowed: tuple[type[Exception], ...] = ()
    """Errors that it states."""
    tokens: tuple[bytes, ...] = ()
    """Pieces that mean something to it, besides those that mean harm everywhere."""
    close: Callable[[], None] = lambda: None
    """Gives back what it opened."""


_found: dict[str, Target] = {}


def target(made: Target) -> Target:
    """Register one."""
    assert made.name not in _found, f"two targets are called {made.name}"
    _found[made.name] = made
    return made


def found() -> tuple[Target, ...]:
    """All, by name."""
    return tuple(_found[name] for name in sorted(_found))
