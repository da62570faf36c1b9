"""What came of publishing, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from skills_repo.publish.forge import Request
from skills_repo.publish.push import Standing
from skills_repo.risky import Risk


class Outcome(StrEnum):
    """How it ended."""

    OFF = "off"
    """The configuration says that nothing leaves the machine."""
    NOTHING = "nothing"
    """There is nothing to publish."""
    UNCHANGED = "unchanged"
    """What would be published stands there already."""
    PUSHED = "pushed"
    CREATED = "created"
    UPDATED = "updated"
    WAITING = "waiting"
    """For a limit, or because a person closed the request."""
    STOPPED = "stopped"
    """A person must see to it."""


@dataclass(frozen=True)
class Published:
    """What was done; in a dry run, what would be."""

    outcome: Outcome
    reason: str
    """One sentence."""
    branch: str
    base: str = ""
    """Short name of the base branch."""
    head: str = ""
    push: tuple[str, str] | None = None
    """Commit and short branch name that are pushed, if any."""
    commits: tuple[str, ...] = ()
    """That the base does not have and that changed the skill, oldest first."""
    request: Request | None = None
    """The open request, or the one that decided the outcome."""
    title: str = ""
    body: str = ""
    """What is written, or would be; also where the outcome is `unchanged`."""
    labels: tuple[str, ...] = ()
    risks: tuple[Risk, ...] = ()
    token_from: str = ""
    """Where the forge's token came from, in words."""


@dataclass(frozen=True)
class Rejection:
    """A request that a person closed without merging it."""

    number: int
    url: str
    head: str
    edits: tuple[str, ...]
    """Commits of honed's edits in it, oldest first, as far as they can be told."""
    author: str
    """Who wrote the last comment; empty without one."""
    reason: str
    """The last comment as one harmless line; empty without one."""


@dataclass(frozen=True)
class PublishState:
    """What stands where, for whoever learns from it."""

    branch: str
    head: str | None
    remote_head: str | None
    published: str | None
    standing: Standing | None
    merged: bool
    open: Request | None
    rejections: tuple[Rejection, ...]
    """Newest first."""
