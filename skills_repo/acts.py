"""What people did with honed's edits, read out of git: reverted them, reverted a copy of them, or deleted their text.

Invariants: nothing is written; the same commits give the same answer. A person who rewords a line edits it; one who
deletes all of what an edit added has taken the edit back, and so has one who reverts it, whether as honed committed it
or picked, squashed or merged onto another line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skills_repo.curve import taken_back
from skills_repo.edits import Edit
from skills_repo.history import NotCommittedError, RepositoryError, SkillCommit, SkillHistory
from skills_repo.likeness import LIKE, Change, changes, folded, likeness
from skills_repo.message import place_of
from skills_repo.recover import recovered_edit
from skills_repo.skill import Skill, SkillError

MOST_COMMITS = 2_000
"""Of the skill's history that is looked at, the newest."""
MOST_DELETIONS = 200
"""People's commits that are searched for deletions, the newest."""
_MOST_BELOW = 10 * MOST_COMMITS
"""Of a merge's history: more than is looked at, so that what its first parent has is told from what it brought."""
_HONED = re.compile(r"^\s*Honed-Run: \S", re.MULTILINE)
_FILE = "SKILL.md"


@dataclass(frozen=True)
class TakenBackEdit:
    """One of honed's edits that a person did not want."""

    key: str
    """The same for every copy of the edit: run, step and phase; of a commit that holds several edits its id."""
    commit: SkillCommit
    edit: Edit
    """Worked out again from the commit."""
    changes: tuple[Change, ...]
    by: str
    """The commit that took it back; empty where it was no commit."""
    reason: str
    """In the person's words, as they are."""


class Acts:
    """Reads one skill's history. Every method raises `RepositoryError`."""

    def __init__(self, history: SkillHistory) -> None:
        self._history = history
        self._skills: dict[str, Skill | None] = {}

    async def taken_back(self, *lines: str) -> tuple[TakenBackEdit, ...]:
        """What was taken back as these commits (or refs) know it: each edit once, by line, newest first.

        A revert that was taken back itself on any of the lines does not count.
        """
        logs = {line: await self._history.log(MOST_COMMITS, at=line) for line in lines}
        known = {commit.sha: commit for log in logs.values() for commit in log}
        undone = {sha for log in logs.values() for sha in _undone(log)}
        found: dict[str, TakenBackEdit] = {}
        for tip, log in logs.items():
            for sha, revert in taken_back(log).items():
                if revert.sha not in undone:
                    for commit in await self._edits(sha, known):
                        await self._add(found, commit, revert.sha, revert.reason)
            for commit, person in await self._deleted(log, tip):
                await self._add(found, commit, person.sha, f"{person.subject} {person.body}".strip())
        return tuple(found.values())

    async def turned_down(self, commits: Sequence[tuple[str, str]]) -> tuple[TakenBackEdit, ...]:
        """Edits by commit id and a person's reason, where no commit took them back: of a request that was closed."""
        found: dict[str, TakenBackEdit] = {}
        for sha, reason in commits:
            await self._add(found, await self._history.commit(sha), "", reason)
        return tuple(found.values())

    async def copies_taken_back(self, line: str, commits: Sequence[SkillCommit]) -> frozenset[str]:
        """Which of these edits a person took back on another line, where copies of them stood."""
        known = await self.taken_back(line)
        keys = {one.key for one in known}
        squashed = {text for one in known if one.key == one.commit.sha for part in one.changes for text in part.added}
        found = set()
        for commit in commits if known else ():
            before, after = await self._sides(commit)
            if before is not None and after is not None:
                added = {text for part in changes(before, after) for text in part.added}
                if key_of(commit) in keys or (added and added <= squashed):
                    found.add(commit.sha)
        return frozenset(found)

    async def _add(self, found: dict[str, TakenBackEdit], commit: SkillCommit, by: str, reason: str) -> None:
        key = key_of(commit)
        if key in found:
            return
        before, after = await self._sides(commit)
        if before is None or after is None:
            return
        edit, changed = recovered_edit(commit, before, after), changes(before, after)
        if changed:
            found[key] = TakenBackEdit(key, commit, edit, changed, by, reason)

    async def _edits(self, sha: str, known: Mapping[str, SkillCommit]) -> Sequence[SkillCommit]:
        """Honed's edits that a reverted commit stands for: itself, a squash of them, or all that a merge brought."""
        commit = known.get(sha)
        if commit is None:
            try:
                commit = await self._history.commit(sha)
            except RepositoryError:
                return ()  # it is not in this repository: nothing can be told of it
        if len(commit.parents) < 2:
            return (commit,) if is_of_honed(commit) else ()
        merged = {one.sha for one in await self._history.log(_MOST_BELOW, at=sha)}
        merged -= {one.sha for one in await self._history.log(_MOST_BELOW, at=commit.parents[0])}
        return [one for one in known.values() if one.kind == "edit" and one.sha in merged]

    async def _deleted(self, log: Sequence[SkillCommit], tip: str) -> Sequence[tuple[SkillCommit, SkillCommit]]:
        """Edits whose whole text a person's commit deleted, and that commit."""
        first = max((at for at, commit in enumerate(log) if commit.kind == "edit"), default=0)
        people = [commit for commit in log[:first] if commit.kind == "human" and commit.parents]
        now = await self._skill(tip) if people else None
        found: list[tuple[SkillCommit, SkillCommit]] = []
        for person in people[:MOST_DELETIONS]:
            before, after = await self._sides(person)
            if before is None or after is None or now is None:
                continue
            wrote = await self._written_by_honed(person, before, after)
            found += [(edit, person) for edit in wrote if await self._is_gone(edit, before, (after, now))]
        return found

    async def _written_by_honed(self, person: SkillCommit, before: Skill, after: Skill) -> Sequence[SkillCommit]:
        """The edits that wrote lines which the person's commit deleted."""
        gone = {line for change in changes(before, after) if not change.added for line in change.removed}
        numbers = [at for at, line in enumerate(before.text.split("\n"), start=1) if folded(line) in gone]
        if not numbers:
            return ()
        lines = await self._history.blame(person.parents[0], _FILE, numbers)
        wrote = {line.commit.sha: line.commit for line in lines if line.commit.kind == "edit"}
        return tuple(wrote[sha] for sha in sorted(wrote))

    async def _is_gone(self, edit: SkillCommit, before: Skill, later: Sequence[Skill]) -> bool:
        """All that it added stood before, nothing of it stands later, not even in other words."""
        sides = await self._sides(edit)
        if sides[0] is None or sides[1] is None:
            return False
        added = {line for change in changes(sides[0], sides[1]) for line in change.added}
        if not added or not added <= _lines(before):
            return False
        for skill in later:
            new = {line for change in changes(before, skill) for line in change.added}
            if added & _lines(skill) or any(likeness(mine, other) >= LIKE for mine in added for other in new):
                return False
        return True

    async def _sides(self, commit: SkillCommit) -> tuple[Skill | None, Skill | None]:
        """The skill before a commit and after it; None where there was no valid one."""
        return (await self._skill(commit.parents[0]) if commit.parents else None), await self._skill(commit.sha)

    async def _skill(self, ref: str) -> Skill | None:
        if ref not in self._skills:
            try:
                self._skills[ref] = await self._history.read(ref)
            except (SkillError, NotCommittedError):  # a person left it broken, or there was none yet
                self._skills[ref] = None
        return self._skills[ref]


def is_of_honed(commit: SkillCommit) -> bool:
    """It brought edits of honed's: one as honed committed it, or several that a person squashed, reverts among them."""
    return commit.kind == "edit" or _HONED.search(commit.body) is not None


def key_of(commit: SkillCommit) -> str:
    """What copies of one edit have in common."""
    place = place_of(commit.trailers)
    if place is None or _HONED.search(commit.body):  # a squash: its trailers are those of the last edit alone
        return commit.sha
    return f"{place[0]} {commit.trailers['Honed-Step']} {place[2]}"


def _undone(log: Sequence[SkillCommit]) -> frozenset[str]:
    """Reverts that this line knows and does not count any more."""
    live = {revert.sha for revert in taken_back(log).values()}
    return frozenset(commit.sha for commit in log if commit.kind == "revert" and commit.sha not in live)


def _lines(skill: Skill) -> frozenset[str]:
    return frozenset(folded(line) for line in skill.text.split("\n"))
