"""Which call fails, and how: drawn from a seed and from what is asked, never from the order of arrival.

The same seed so gives the same faults, however many things run at once: the first time a thing is asked has one fate,
the second time another.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Dice:
    """`share` of what is asked fails, in one of `kinds` each. `counts` holds what was drawn, and `asked` how often."""

    seed: str
    share: float
    kinds: Sequence[str]
    counts: Counter[str] = field(default_factory=Counter)
    asked: int = 0
    _seen: Counter[str] = field(default_factory=Counter)

    def draw(self, what: str | bytes) -> str:
        """A kind of fault, or nothing."""
        key = hashlib.blake2b(what if isinstance(what, bytes) else what.encode(), digest_size=16).hexdigest()
        self._seen[key] += 1
        self.asked += 1
        drawn = hashlib.blake2b(f"{self.seed}/{key}/{self._seen[key]}".encode(), digest_size=16).digest()
        if int.from_bytes(drawn[:8]) >= self.share * 2**64:
            return ""
        kind = self.kinds[int.from_bytes(drawn[8:]) % len(self.kinds)]
        self.counts[kind] += 1
        return kind
