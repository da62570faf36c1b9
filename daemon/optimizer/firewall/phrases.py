"""An index of short texts (answers, names) that finds each of them in a text in linear time.

A phrase is found where its letters and digits stand from the start of one word to the end of another, so "Port Alder"
is found in "port-alder", "PortAlder" and "P o r t  A l d e r", while "port" is not found in "report".
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from daemon.optimizer.firewall.words import Words

SHORTEST, LONGEST = 4, 64
"""Letters and digits of a phrase that is looked for."""
_PREFIX = 4


@dataclass(frozen=True)
class Hit:
    """A phrase found: words `first` to `last`, both included."""

    phrase: str
    first: int
    last: int


@dataclass
class Phrases:
    """Phrases by their letters and digits."""

    splits: dict[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    _lengths: dict[str, list[int]] = field(default_factory=dict)

    def add(self, words: tuple[str, ...]) -> str:
        """Take in a phrase; gives its key, or "" if it is too short or too long to be looked for."""
        key = "".join(words)
        if not SHORTEST <= len(key) <= LONGEST:
            return ""
        known = self.splits.get(key, ())
        if words not in known:
            self.splits[key] = (*known, words)
        lengths = self._lengths.setdefault(key[:_PREFIX], [])
        if len(key) not in lengths:
            insort(lengths, len(key))
        return key

    def find(self, text: Words) -> Iterator[Hit]:
        """Every phrase in a text, by place."""
        bare = "".join(text.words)
        starts: list[int] = []
        ends: dict[int, int] = {}
        at = 0
        for number, word in enumerate(text.words):
            starts.append(at)
            at += len(word)
            ends[at] = number
        for first, start in enumerate(starts):
            for length in self._lengths.get(bare[start : start + _PREFIX], ()):
                last = ends.get(start + length)
                if last is None:
                    continue
                key = bare[start : start + length]
                if key in self.splits and self._reads_as(key, text, first, last):
                    yield Hit(key, first, last)

    def _reads_as(self, key: str, text: Words, first: int, last: int) -> bool:
        """Not "not able" for "notable": other words count only where a reader sees one, or letter by letter."""
        words = text.words[first : last + 1]
        if words in self.splits[key] or len(words) == 1:
            return True
        return all(len(word) == 1 for word in words) or not any(map(str.isspace, text.raw(first, last)))
