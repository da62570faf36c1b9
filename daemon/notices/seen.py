"""What a look saw of one project, as data that can be noted and compared with the next look's.

Invariant: what cannot be read now keeps its last good values and says so in `wrong`, so a fault is never a difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import structlog
from pydantic import TypeAdapter, ValidationError

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ConfigSeen:
    """honed.toml."""

    digest: str = ""
    """Of what a run depends on, as it was last loaded: comments, `[daemon]` or `[publish]` do not count."""
    wrong: str = ""


@dataclass(frozen=True)
class TasksSeen:
    """The task set."""

    at: str = ""
    """`[tasks] path`, as the file has it."""
    mark: str = ""
    """Of names, sizes, times and inodes: as long as it stays, nothing is read. `~` at its end: not to be trusted."""
    digest: str = ""
    """Of the set, as it was last loaded."""
    count: int = 0
    beside: tuple[str, ...] = ()
    """Files and folders next to a set's file that its tasks are made of."""
    wrong: str = ""


@dataclass(frozen=True)
class Line:
    """The skill on one line of history: HEAD, honed's branch, or the remote's base branch."""

    commit: str = ""
    """Its tip; empty: there is no such line."""
    tree: str = ""
    """Of the skill's folder; empty: it has none there."""
    person: str = ""
    """The newest commit in which a person changed the skill since honed looks."""
    says: str = ""
    """That commit's subject."""
    edit: str = ""
    """The newest commit of honed's, or squash of them."""
    edits: int = 0
    """How many there are."""
    fresh: int = 0
    """Commits that changed the skill and came with the newest move of the line."""

    def was_set(self, before: Line) -> bool:
        """It came to a version that neither new commits nor edits of honed's explain: by a switch, or a reset."""
        moved = bool(before.commit and self.commit) and self.tree != before.tree
        return moved and not self.fresh and self.edits <= before.edits


@dataclass(frozen=True)
class Act:
    """A person took an edit back, or closed a request."""

    key: str
    """Of the edit, or the request's name."""
    by: str = ""
    """The commit that took the edit back."""
    what: str = ""
    """The edit's subject and the person's reason; people's words, on one line."""


@dataclass(frozen=True)
class SkillSeen:
    """The skill and what people did with honed's edits."""

    at: str = ""
    """Repository and folder, as the file has them."""
    head: Line = Line()
    branch: Line = Line()
    remote: Line = Line()
    """The remote's base branch, as it was last fetched."""
    taken: tuple[Act, ...] = ()
    closed: tuple[Act, ...] = ()
    merges: bool = True
    """People merge honed's edits; False: honed itself does (`[publish] mode = "direct"`), and that is no cause."""
    behind: str = ""
    """The remote has a version of the skill that is not here: one sentence with the remedy."""
    wrong: str = ""


@dataclass(frozen=True)
class Seen:
    """One project at one moment."""

    config: ConfigSeen = ConfigSeen()
    tasks: TasksSeen = TasksSeen()
    skill: SkillSeen = SkillSeen()

    @property
    def whole(self) -> bool:
        """Everything that a run needs has been there."""
        return bool(self.config.digest and self.tasks.digest and (self.skill.head.tree or self.skill.branch.tree))

    @property
    def wrong(self) -> Mapping[str, str]:
        """What cannot be used now, by area (`config`, `tasks`, `repository`, `remote`): one sentence each."""
        found = {
            "config": self.config.wrong,
            "tasks": self.tasks.wrong,
            "repository": self.skill.wrong,
            "remote": self.skill.behind,
        }
        return {area: what for area, what in found.items() if what}

    def to_data(self) -> dict[str, Any]:
        """For `JobStore.note`."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any] | None) -> Seen | None:
        """The same, read back; None where nothing was noted, or nothing that this version can read."""
        if data is None:
            return None
        try:
            return _ADAPTER.validate_python(data)
        except ValidationError as error:
            log.warning("what was noted of a project cannot be read: it counts as new", faults=error.error_count())
            return None


_ADAPTER = TypeAdapter(Seen)
