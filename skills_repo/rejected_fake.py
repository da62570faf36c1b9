"""Rejected edits in memory, for tests: beside a `FakeSkillRepository`.

Invariant: it passes the same conformance suite as `rejected_refs.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from skills_repo.fake import FakeSkillRepository
from skills_repo.history import EditCommit, RepositoryError
from skills_repo.rejected import RejectedCommit, check_set, newest_first, reason_of


@dataclass(frozen=True)
class _Set:
    by: Literal["gate", "person"]
    reason: str
    when: float
    commits: tuple[str, ...]


class FakeRejectedEdits:
    """The `RejectedEdits` protocol on a dictionary."""

    def __init__(self, history: FakeSkillRepository) -> None:
        self._history = history
        self._sets: dict[str, _Set] = {}

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
        """See `RejectedEdits.keep`."""
        check_set(name, changes)
        if name not in self._sets:
            commits = self._history.commit_beside(parent, changes, when)
            self._sets[name] = _Set(by, reason_of(reason, changes), float(int(when)), commits)
        return self._sets[name].commits

    async def keep_commits(self, name: str, commits: tuple[str, ...], *, reason: str, when: float) -> None:
        """See `RejectedEdits.keep_commits`."""
        check_set(name, commits)
        if name in self._sets:
            return
        ids = tuple([(await self._history.commit(commit)).sha for commit in commits])
        for one in ids[:-1]:
            if not await self._history.is_ancestor(one, ids[-1]):
                raise RepositoryError(f"{name}: {ids[-1][:12]} does not contain {one[:12]} (name the newest last)")
        self._sets[name] = _Set("person", reason_of(reason), float(int(when)), ids)

    async def all(self) -> tuple[RejectedCommit, ...]:
        """See `RejectedEdits.all`."""
        rows = [(one, await self._history.commit(oid)) for _, one in self._ordered() for oid in one.commits]
        return tuple(
            RejectedCommit(commit.sha, commit.parents[0], one.by, one.reason, one.when)
            for one, commit in rows
            if commit.trailers.get("Honed-Phase") != "initial"
        )

    async def prune(self, *, older_than: float, most: int) -> tuple[str, ...]:
        """See `RejectedEdits.prune`."""
        mine = [(name, one) for name, one in self._ordered() if one.by == "gate"]
        gone = [name for place, (name, one) in enumerate(mine) if one.when < older_than or place >= most]
        for name in gone:
            del self._sets[name]
        return tuple(gone)

    def _ordered(self) -> list[tuple[str, _Set]]:
        return sorted(self._sets.items(), key=lambda row: newest_first((row[0], row[1].when)), reverse=True)
