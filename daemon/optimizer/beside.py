"""What a run reads of its repository, and leaves there, besides commits on the skill's branch.

Invariant: nothing that is left here decides a run. What cannot be kept is said and gone on without; the run stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import structlog

from daemon.config import Config
from daemon.inbox.opening import InboxSessions
from daemon.optimizer.real_use import ReadsSessions
from daemon.places import author_of, open_rejected
from skills_repo.convention import DEFAULT, Convention
from skills_repo.history import EditCommit, RepositoryError
from skills_repo.house_style import HouseStyle
from skills_repo.notes import ReportNotes
from skills_repo.rejected import RejectedEdits

log = structlog.get_logger(__name__)

DAY_S = 86_400.0


class ReadsStyle(Protocol):
    """Who can tell how a repository words its commits (`skills_repo.house_style.HouseStyle`)."""

    async def at(self, commit: str) -> Convention:
        """The convention as it is at a commit."""


class TakesNotes(Protocol):
    """Who keeps reports beside commits (`skills_repo.notes.ReportNotes`)."""

    async def append(self, commit: str, text: str, *, when: float) -> None:
        """Add a paragraph to a commit's note, once."""


@dataclass(frozen=True)
class Beside:
    """The stores beside the history; None for what is switched off."""

    style: ReadsStyle | None = None
    rejected: RejectedEdits | None = None
    most_rejected: int = 100
    """Sets of rejected edits that are kept; 0: none."""
    rejected_days: float = 90.0
    notes: TakesNotes | None = None
    sessions: ReadsSessions | None = None
    """People's own sessions with the skill, as evidence."""

    async def convention(self, base: str) -> Convention:
        """How subjects are written in this run: as people did up to its base."""
        return DEFAULT if self.style is None else await self.style.at(base)

    async def reject(self, name: str, parent: str, changes: tuple[EditCommit, ...], when: float) -> None:
        """Keep what the gate turned down on top of `parent`; the same name again changes nothing."""
        if self.rejected is None or not self.most_rejected:
            return
        try:
            await self.rejected.keep(name, parent, changes, by="gate", when=when)
        except RepositoryError as error:
            log.warning("a rejected candidate is not kept", name=name, error=str(error))

    async def end(self, commit: str, report: str, now: float) -> None:
        """A run is over: note its report on a commit, and drop rejected candidates that are too many or too old."""
        try:
            if self.notes is not None:
                await self.notes.append(commit, report, when=now)
            if self.rejected is not None:
                await self.rejected.prune(older_than=now - self.rejected_days * DAY_S, most=self.most_rejected)
        except RepositoryError as error:
            log.warning("the run's report or its rejected candidates are not in order", error=str(error))


def open_beside(config: Config) -> Beside:
    """What a configuration asks for; opens nothing yet."""
    root, path, author = config.skill.repository, config.skill.path, author_of(config)
    return Beside(
        HouseStyle(root, path, author=author),
        open_rejected(config),
        config.git.keep_rejected,
        config.git.keep_rejected_days,
        ReportNotes(root, author=author) if config.git.notes else None,
        InboxSessions(config) if config.inbox.evidence and config.train.mode != "paper" else None,
    )
