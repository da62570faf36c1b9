"""A project: one honed.toml and what belongs to it. The daemon keeps one or many.

Invariant: `config` is the last one that could be used; `wrong` says why the file as it stands now cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from daemon.config import Config
from daemon.places import state_folder


@dataclass(frozen=True)
class Project:
    """One skill with its tasks, as the daemon keeps it."""

    name: str
    """Unique in one daemon: the skill's name, with the folder of its honed.toml where two would be the same."""
    config: Config
    wrong: str = ""
    """Why the file as it is now is not used; empty if it is."""

    @property
    def file(self) -> Path:
        """Its honed.toml."""
        return self.config.file

    @property
    def state(self) -> Path:
        """Its state folder."""
        return state_folder(self.config)
