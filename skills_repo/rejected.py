"""The seam for edits that did not make it: kept in the repository under `refs/honed/rejected/`, beside the history.

Invariants: nothing here moves a branch; a kept set of edits is never rewritten, only pruned; text of people and models
is neutral in it (`skills_repo.message`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from skills_repo.history import EditCommit


@dataclass(frozen=True)
class RejectedCommit:
    """One rejected edit as it is kept: a commit on top of what it was proposed for."""

    sha: str
    parent: str
    """The skill's version that it was tried on; for a later edit of the same set, the edit before it."""
    by: Literal["gate", "person"]
    reason: str
    """In the person's words, or the gate's figures; neutral, one line; may be empty."""
    when: float
    """Unix time at which it was kept."""


class RejectedEdits(Protocol):
    """Sets of edits of one skill that a gate or a person turned down. Every method raises `RepositoryError`."""

    async def keep(
        self, name: str, parent: str, changes: tuple[EditCommit, ...], *, by: Literal["gate", "person"], when: float
    ) -> tuple[str, ...]:
        """Keep a set under a name (`RUN.STEP`, `request-12`), on top of `parent`; the commits, oldest first.

        The same name again changes nothing and gives back what is kept.
        """

    async def keep_commits(self, name: str, commits: tuple[str, ...], *, reason: str, when: float) -> None:
        """Keep commits that exist already (of a request that a person closed), with the reason."""

    async def all(self) -> tuple[RejectedCommit, ...]:
        """Everything kept, newest set first."""

    async def prune(self, *, older_than: float, most: int) -> tuple[str, ...]:
        """Drop sets kept before a Unix time and all but the newest `most`; the names dropped."""
