"""An index of runs of `SIZE` words, kept as hashes, with how many tasks each occurs in.

The hash is a rolling one over word numbers, so the same texts give the same index in every process. A run of a task
takes eight bytes (`Tally`), and looking a text up takes time all but linear in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from daemon.optimizer.firewall.tally import Tally
from daemon.optimizer.firewall.vocabulary import STOP_WORDS

SIZE = 8
"""Words of a run. Six still hit idioms of a trade ("the last row of the sheet"), ten miss short questions."""
CONTENT = 3
"""Words of a run that are no stop words: "it is one of the most of all the" says nothing."""
_MODULUS = (1 << 61) - 1
_BASE = 1_000_003


class Run(NamedTuple):
    """Words `first` to `last` of a text, both included."""

    first: int
    last: int
    held: bool
    """Some of it is text of a held-out task."""
    telling: bool
    """Some of it says enough."""

    def with_next(self, other: Run) -> Run:
        """Both as one."""
        return Run(self.first, other.last, self.held or other.held, self.telling or other.telling)


@dataclass
class Grams:
    """Runs of words by task."""

    size: int = SIZE
    content: int = CONTENT
    """How many words of a run must not be `dull`."""
    dull: Callable[[str], bool] = STOP_WORDS.__contains__
    tally: Tally = field(default_factory=Tally)
    """In how many held-out and train tasks each run occurs."""
    _numbers: dict[str, int] = field(default_factory=dict)

    def add(self, texts: list[tuple[str, ...]], *, held: bool) -> None:
        """Take in all texts of one task."""
        numbers = self._numbers
        runs: set[int] = set()
        for words in texts:
            for word in words:
                if word not in numbers:
                    numbers[word] = len(numbers) + 1
            runs |= self.hashes(words)
        self.tally.add(runs, held=held)

    def excuse(self, words: tuple[str, ...]) -> None:
        """The runs of a text count as train text, which is no leak."""
        self.tally.add(self.hashes(words), held=False)

    def runs(self, words: tuple[str, ...]) -> Iterator[tuple[int, int, bool]]:
        """(number of the first word, hash, whether it says enough) of every run of known words."""
        size, drop = self.size, pow(_BASE, self.size, _MODULUS)
        known = [self._numbers.get(word, 0) for word in words]
        dull = [self.dull(word) for word in words]
        value = filled = empty = 0
        for at, number in enumerate(known):
            if not number:
                value = filled = empty = 0
                continue
            value = (value * _BASE + number) % _MODULUS
            filled += 1
            empty += dull[at]
            if filled > size:
                value = (value - known[at - size] * drop) % _MODULUS
                empty -= dull[at - size]
            if filled >= size:
                yield at - size + 1, value, size - empty >= self.content

    def hashes(self, words: tuple[str, ...]) -> set[int]:
        """Every run of a text, to be let through elsewhere."""
        return {run for _, run, _ in self.runs(words)}

    def find(self, words: tuple[str, ...], *, rare: int, exempt: Set[int] = frozenset()) -> list[Run]:
        """Runs that give a task away, joined where they overlap.

        A run of held-out text counts unless a train prompt has it too: that is how the family words its tasks. With
        `rare` a run of at most that many train tasks counts as well; 0: train text is no leak. Runs that say too little
        count only where they go on from one that says enough.
        """
        joined: list[Run] = []
        for first, run, telling in self.runs(words):
            if run in exempt:
                continue
            out, train = self.tally.count(run)
            held = bool(out) and not train
            if not (held or 0 < out + train <= rare):
                continue
            found = Run(first, first + self.size - 1, held, telling)
            joined.append(joined.pop().with_next(found) if joined and joined[-1].last >= first else found)
        return [run for run in joined if run.telling]
