"""Where a forge is, and what opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """Where the forge is and what opens it."""

    forge: str
    """`GitHub` or `GitLab`, for messages."""
    api_url: str
    project: str
    token_env: str
    """Name of the variable that the token came from, for messages."""
    headers: Mapping[str, str]
    """The token among them: never print this."""
    timeout_s: float = 30.0

    def __repr__(self) -> str:
        return f"Access({self.forge}, {self.api_url}, {self.project})"
