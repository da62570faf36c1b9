"""Where a forge is, and what opens it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class TokenSource:
    """Where a token came from, in words for messages."""

    name: str
    """`GITHUB_TOKEN`, `gh auth token`."""
    renew: str
    """What to do where the forge does not take it."""

    @classmethod
    def variable(cls, name: str) -> Self:
        """An environment variable."""
        return cls(name, f"renew it and set the environment variable {name}; [publish] token_env names it")


@dataclass(frozen=True)
class Access:
    """Where the forge is and what opens it."""

    forge: str
    """`GitHub` or `GitLab`, for messages."""
    api_url: str
    project: str
    source: TokenSource
    headers: Mapping[str, str]
    """The token among them: never print this."""
    timeout_s: float = 30.0

    def __repr__(self) -> str:
        return f"Access({self.forge}, {self.api_url}, {self.project})"
