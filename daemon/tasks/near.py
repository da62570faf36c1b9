"""Tasks whose prompts are nearly the same, found among a hundred thousand without comparing all with all.

MinHash: each prompt's word triples are hashed into `BINS` bins, the smallest of each kept, and prompts that agree in
all bins of some band are compared for real. What counts is the Jaccard similarity of the triples.

Two prompts that are alike but hold other numbers, or come with other files, game or answer, are of one template: many
good sets are made so. They are told apart from copies, which are the same task in other words or layout.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from daemon.tasks.digest import file_digests, met
from daemon.tasks.task import Task

SIMILAR = 0.8
"""Similarity from which on two prompts are alike."""
BINS, ROWS = 64, 4
_BANDS = BINS // ROWS
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_MASK = (1 << 64) - 1
_EMPTY = _MASK


@dataclass(frozen=True)
class Pair:
    """Two tasks that are alike, by position."""

    first: int
    second: int
    similarity: float
    copy: bool
    """The same numbers, files and answer too."""


class NearIndex:
    """Takes every task's prompt once, in order, and then finds the pairs."""

    def __init__(self, similar: float = SIMILAR) -> None:
        self._similar = similar
        self._bands = [array("Q") for _ in range(_BANDS)]

    def add(self, task: Task) -> None:
        """Note one task; its position is the number of those before it."""
        bins = _signature(shingles(task.prompt))
        for band, column in enumerate(self._bands):
            column.append(hash(tuple(bins[band * ROWS : band * ROWS + ROWS])) & _MASK)

    def pairs(self, task: Callable[[int], Task]) -> Iterator[Pair]:
        """Pairs that are alike, enough of them to join each family of alike tasks; `task` gives one by position."""
        found: set[tuple[int, int]] = set()
        read = lru_cache(maxsize=64)(lambda place: _Known(task(place)))
        for column in self._bands:
            for first, second in _neighbours(column):
                if (first, second) in found:
                    continue
                found.add((first, second))
                one, other = read(first), read(second)
                similarity = jaccard(one.shingles, other.shingles)
                if similarity >= self._similar:
                    yield Pair(first, second, similarity, one.same_case(other))


def shingles(text: str) -> frozenset[int]:
    """The hashed word triples of a text, case and punctuation aside; of fewer than three words, the words."""
    words = [_word(word) for word in _WORD.findall(text.casefold())] or [_word(text.strip())]
    if len(words) < 3:
        return frozenset(words)
    return frozenset(
        (one * 0x9E3779B97F4A7C15 + two * 0xC2B2AE3D27D4EB4F + three * 0x165667B19E3779F9) & _MASK
        for one, two, three in zip(words, words[1:], words[2:], strict=False)
    )


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """The share of what both have in what either has."""
    both = len(one & other)
    return both / (len(one) + len(other) - both)


@lru_cache(maxsize=65_536)
def _word(word: str) -> int:
    data = word.encode("utf-8", "surrogatepass")
    return zlib.crc32(data) << 32 | zlib.crc32(data, 0x5EED)


def _signature(hashed: frozenset[int]) -> list[int]:
    """The smallest hash of each bin; an empty bin takes that of the next one that is not."""
    bins = [_EMPTY] * BINS
    for value in hashed:
        mixed = (value ^ value >> 31) * 0xBF58476D1CE4E5B9 & _MASK
        at = mixed & (BINS - 1)
        rest = mixed >> 6
        bins[at] = min(bins[at], rest)
    filled = list(bins)
    for at in range(2 * BINS - 1, -1, -1):  # twice round, so that the last bins may take from the first
        place = at % BINS
        if filled[place] == _EMPTY and filled[(place + 1) % BINS] != _EMPTY:
            filled[place] = filled[(place + 1) % BINS] + 1 & _MASK
    return filled


def _neighbours(column: array[int]) -> Iterator[tuple[int, int]]:
    """Each position with the first and with the last one before it of the same band: linear, however many agree."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, value in enumerate(column):
        if value in first:
            yield first[value], place
            if last[value] != first[value]:
                yield last[value], place
        else:
            first[value] = place
        last[value] = place


class _Known:
    """What of a task is compared."""

    def __init__(self, task: Task) -> None:
        self.shingles = shingles(task.prompt)
        self._task = task

    def same_case(self, other: _Known) -> bool:
        """Whether the two differ in words and layout alone."""
        one, two = self._task, other._task
        return (
            sorted(_NUMBER.findall(one.prompt)) == sorted(_NUMBER.findall(two.prompt))
            and file_digests(met(one)) == file_digests(met(two))
            and (one.answer == two.answer or None in (one.answer, two.answer))
        )
