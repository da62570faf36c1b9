"""What people took back in git: a `git revert` of an edit is evidence for every later run of the skill.

Read from the history as it is at the run's base alone, so a resumed run knows what an undisturbed one does.
"""

from __future__ import annotations

from dataclasses import dataclass

from daemon.optimizer.memory import EarlierStep
from daemon.optimizer.proposals import folded, remembered
from skills_repo.curve import taken_back
from skills_repo.edits import Edit
from skills_repo.history import SkillCommit, SkillHistory
from skills_repo.message import neutral
from skills_repo.recover import recovered
from skills_repo.skill import SkillError

MOST_COMMITS = 2_000
"""Of the skill's history that is looked at, the newest."""
MOST_TOLD = 20
"""Edits that later reflections read of; all are refused."""
_MAX_REASON = 300


@dataclass(frozen=True)
class TakenBack:
    """One of honed's edits that a person reverted."""

    edit: Edit
    reason: str
    """In the person's words, neutral; empty if none were given."""
    commit: str
    """Of the edit."""

    def matches(self, edit: Edit) -> bool:
        """The other edit would bring the same back: its text, wherever it goes, or the same deletion."""
        mine, other = (folded(one.content or one.target) for one in (self.edit, edit))
        return bool(mine) and mine == other and bool(self.edit.content) == bool(edit.content)


async def edits_taken_back(history: SkillHistory, base: str) -> tuple[TakenBack, ...]:
    """The edits whose reverts `base` contains, newest first; a revert that was itself reverted does not count."""
    commits = await history.log(MOST_COMMITS)
    by_id = {commit.sha: commit for commit in commits}
    found = []
    for sha, revert in taken_back(commits).items():
        commit = by_id.get(sha)
        if commit is None or commit.kind != "edit" or not await history.is_ancestor(revert.sha, base):
            continue
        edit = await _edit(history, commit)
        if edit is not None:
            found.append(TakenBack(edit, neutral(revert.reason, _MAX_REASON), sha))
    return tuple(found)


async def _edit(history: SkillHistory, commit: SkillCommit) -> Edit | None:
    """What the commit did; None where the skill was not valid then, or began with it."""
    if not commit.parents:
        return None
    try:
        before, after = await history.read(commit.parents[0]), await history.read(commit.sha)
    except SkillError:
        return None
    edit = recovered(commit, before.text, after.text)
    return edit if edit.content or edit.target else None


def as_earlier_step(found: tuple[TakenBack, ...]) -> tuple[EarlierStep, ...]:
    """For reflections to read, like a rejected step."""
    if not found:
        return ()
    rows = tuple({**remembered(one.edit), "reason": one.reason or "none given"} for one in found[:MOST_TOLD])
    return (EarlierStep(0, "Taken back by a person", None, None, rows, ()),)
