"""The seam for edits that did not make it: kept in the repository under `refs/honed/rejected/`, beside the history.

Invariants: nothing here moves a branch; a kept set of edits is never rewritten, only pruned; text of people and models
is neutral in it (`skills_repo.message`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from skills_repo.history import EditCommit, RepositoryError
from skills_repo.message import neutral, parse_trailers

MAX_REASON = 400
"""Characters."""
_NAME = re.compile(r"(?!.*(?:\.\.|\.lock$|\.$))[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


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
        self,
        name: str,
        parent: str,
        changes: tuple[EditCommit, ...],
        *,
        by: Literal["gate", "person"],
        when: float,
        reason: str = "",
    ) -> tuple[str, ...]:
        """Keep a set under a name (`RUN.STEP`, `request-12`), on top of `parent`; the commits, oldest first.

        The same name again changes nothing and gives back what is kept. Without a reason, the gate's figures are it.
        """

    async def keep_commits(self, name: str, commits: tuple[str, ...], *, reason: str, when: float) -> None:
        """Keep commits that exist already (of a request that a person closed), oldest first, with the reason.

        The last one must contain the others. The same name again changes nothing.
        """

    async def all(self) -> tuple[RejectedCommit, ...]:
        """Everything kept, newest set first, each set's commits oldest first; a run's given start is no edit."""

    async def prune(self, *, older_than: float, most: int) -> tuple[str, ...]:
        """Drop the gate's sets kept before a Unix time and all but its newest `most`; the names dropped.

        What people turned down stays: it is evidence, however old.
        """


def check_set(name: str, commits: Sequence[object]) -> None:
    """Raise `RepositoryError` for a name that is none, or an empty set."""
    if not _NAME.fullmatch(name):
        raise RepositoryError(f"{name!r} is no name for rejected edits: letters, digits, '.', '_' and '-'")
    if not commits:
        raise RepositoryError(f"{name}: no rejected edits were given")


def reason_of(reason: str, changes: Sequence[EditCommit] = ()) -> str:
    """A reason as it is kept; without one, what the gate said about the set."""
    given = reason or (parse_trailers(changes[-1].message).get("Honed-Gate", "") if changes else "")
    return neutral(given, MAX_REASON)


def newest_first(name_and_when: tuple[str, float]) -> tuple[float, str]:
    """Sort key of sets, to be reversed."""
    return name_and_when[1], name_and_when[0]
