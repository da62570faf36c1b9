"""What a run reads of its repository, and leaves there, besides commits on the skill's branch.

Invariant: nothing here decides a run. What cannot be kept is said and gone on without; the run's result stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from daemon.config import Config
from daemon.places import author_of
from skills_repo.convention import DEFAULT, Convention
from skills_repo.house_style import HouseStyle


class ReadsStyle(Protocol):
    """Who can tell how a repository words its commits (`skills_repo.house_style.HouseStyle`)."""

    async def at(self, commit: str) -> Convention:
        """The convention as it is at a commit."""


@dataclass(frozen=True)
class Beside:
    """The stores beside the history; None for what is switched off."""

    style: ReadsStyle | None = None

    async def convention(self, base: str) -> Convention:
        """How subjects are written in this run: as people did up to its base."""
        return DEFAULT if self.style is None else await self.style.at(base)


def open_beside(config: Config) -> Beside:
    """What a configuration asks for; opens nothing yet."""
    return Beside(HouseStyle(config.skill.repository, config.skill.path, author=author_of(config)))
