"""Where sentences for people go while a run is prepared: a terminal, or the daemon's log."""

from __future__ import annotations

from typing import Protocol


class Teller(Protocol):
    """Takes sentences; decides nothing."""

    def say(self, line: str) -> None:
        """One line of progress."""

    def warn(self, line: str) -> None:
        """A line that must not be missed."""
