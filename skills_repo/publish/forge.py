"""The `Forge` seam: one project's pull or merge requests; GitHub, GitLab and the fake pass one conformance suite.

A request is honed's if its branch begins with `honed/` and lies in the project itself. Texts that come back were
written by people: data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

OURS = "honed/"
"""What honed's branches begin with."""
State = Literal["open", "closed", "merged"]
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST = 2**63


@dataclass(frozen=True)
class Request:
    """A pull or merge request."""

    number: int
    url: str
    state: State
    branch: str
    """Short name of the branch that would be merged."""
    head: str
    """The commit at its head, as the forge knows it: a whole id, or empty."""
    title: str
    body: str
    labels: tuple[str, ...]
    created: datetime
    """With its time zone."""


@dataclass(frozen=True)
class Draft:
    """A request to open."""

    branch: str
    base: str
    title: str
    body: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comment:
    """What a person wrote."""

    author: str
    text: str


class ExistsError(Exception):
    """The forge says that there is an open request for the branch already."""


def number_of(value: Any) -> int:
    """A request's number in an answer; raises `ValueError`, `TypeError` or `OverflowError` for what is none."""
    number = int(value)
    if not 0 < number < _MOST:
        raise ValueError(value)
    return number


def head_of(value: Any) -> str:
    """A commit id in an answer; empty for all else: git would take a name there for another commit."""
    return value if isinstance(value, str) and _OID.fullmatch(value) else ""


def time_of(value: Any) -> datetime:
    """A time in an answer; raises `ValueError` or `TypeError` for what is none, or has no time zone."""
    time = datetime.fromisoformat(value)
    if time.tzinfo is None:
        raise ValueError(value)
    return time


def fields_of(value: Any) -> Mapping[str, Any]:
    """An object in an answer; an empty one for all else."""
    return value if isinstance(value, dict) else {}


class Forge(Protocol):
    """One project. Every method raises `PublishError` with the key and the remedy."""

    @property
    def name(self) -> str:
        """`GitHub` or `GitLab`."""

    @property
    def noun(self) -> str:
        """`pull request` or `merge request`."""

    @property
    def body_limit(self) -> int:
        """Most bytes of a body."""

    @property
    def labels_on_create(self) -> bool:
        """`create` sets the draft's labels; if not, `add_labels` must."""

    async def requests_of(self, branch: str) -> tuple[Request, ...]:
        """Every request for a branch in any state, newest first."""

    async def open_of_honed(self) -> int:
        """How many of honed's requests are open, over all skills."""

    async def opened_since(self, when: datetime) -> int:
        """How many of honed's requests were opened since then, in whatever state they are now."""

    async def create(self, draft: Draft) -> Request:
        """Open one; raises `ExistsError` if there is an open one for the branch."""

    async def update(self, number: int, *, title: str, body: str) -> None:
        """Write another title and body."""

    async def add_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Add labels; those it has stay."""

    async def last_comment(self, number: int) -> Comment | None:
        """The newest comment of a person; what the forge itself or a bot noted does not count."""

    async def close(self) -> None:
        """Give the connections back."""
