"""How many held-out and how many train tasks have a number, for millions of numbers, in eight bytes each.

Numbers are noted in the order in which they come, and sorted when they are first asked for: asking takes two binary
searches. Invariant: a number is noted once a task.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Set

BITS = 61
"""Of a number."""
_SHIFT = BITS - 8
"""The first eight bits say in which part of the index a number is, so that sorting takes little memory at a time."""


class Tally:
    """Counts by number: an entry is the number and, in its last bit, whether the task is held out."""

    def __init__(self) -> None:
        self._new: array[int] = array("Q")
        self._parts: dict[int, array[int]] = {}

    def add(self, numbers: Set[int], *, held: bool) -> None:
        """Note the numbers of one task."""
        self._new.extend([number << 1 | held for number in numbers])

    def count(self, number: int) -> tuple[int, int]:
        """(held-out tasks, train tasks) that have it."""
        if self._new:
            self._settle()
        part = self._parts.get(number >> _SHIFT)
        if part is None:
            return 0, 0
        train, out = (bisect_left(part, number << 1 | bit) for bit in (0, 1))
        return bisect_left(part, (number + 1) << 1) - out, out - train

    def _settle(self) -> None:
        """Sort what is new into its parts."""
        for entry in self._new:
            self._parts.setdefault(entry >> (_SHIFT + 1), array("Q")).append(entry)
        touched = {entry >> (_SHIFT + 1) for entry in self._new}
        self._new = array("Q")
        for key in touched:
            self._parts[key] = array("Q", sorted(self._parts[key]))
