"""What is told of each request to a provider once it has ended, for whoever counts: names and figures, never text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sandboxes.gateway.policy import Provider, Usage


@dataclass(frozen=True)
class Answered:
    """One request that went to a provider."""

    provider: Provider | str
    model: str
    """As configured, never as asked for."""
    outcome: str
    """`ok`, the name of a `ProviderFailure`, or `cut`: ended by us or by the client before it was answered."""
    seconds: float
    """From when it was made to its last byte: with waiting, retries and streaming."""
    usage: Usage
    retries: int = 0


Heard = Callable[[Answered], None]
"""Quick, and never raises: it is called while the answer is on its way."""


def unheard(_answered: Answered) -> None:
    """Nobody counts."""
