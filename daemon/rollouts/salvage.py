"""Attempts that ended under an honed that is dead now, and wait to be scored: found by content when it is asked for.

Invariant: each is given out once, to the one who then either finishes or abandons it in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class Salvage:
    """Attempt ids by their key's digest."""

    waiting: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Mapping[str, str]) -> Salvage:
        """From a mapping of key digest to attempt id."""
        return cls(dict(found))

    def take(self, key: str) -> str | None:
        """The attempt that waits for this key, if one does; nobody else gets it."""
        return self.waiting.pop(key, None)
