"""Edits onto the skill's branch: objects first, then one compare-and-swap.

Invariant: a branch that is checked out is never moved, for its work tree would look dirty. Blocking.
"""

from __future__ import annotations

import posixpath

from skills_repo import objects
from skills_repo.git import GitFailedError
from skills_repo.history import Author, EditCommit, RefMovedError, RepositoryError
from skills_repo.refs import Refs


def commit_edits(
    refs: Refs, skill_path: str, parent: str, changes: tuple[EditCommit, ...], *, author: Author, when: float
) -> tuple[str, ...]:
    """See `SkillHistory.commit_edits`."""
    if not changes:
        raise RepositoryError("nothing to commit: no changes were given")
    name = posixpath.basename(skill_path)
    parent = refs.resolve(parent)
    head = refs.head()
    _check_movable(refs, parent, head)
    before = objects.read_skill(refs.git, parent, skill_path)
    commits: list[str] = []
    for change in changes:
        if change.skill.name != name:
            raise RepositoryError(f"skill {change.skill.name!r} is not {name!r}: it cannot be committed here")
        onto = commits[-1] if commits else parent
        made = objects.write_commit(refs.git, onto, skill_path, before=before, change=change, author=author, when=when)
        commits.append(made)
        before = change.skill
    _move(refs, head, parent, commits[-1], env=objects.identity(author, when))
    return tuple(commits)


def _check_movable(refs: Refs, parent: str, head: str | None) -> None:
    if head is not None and head != parent:
        raise refs.moved(parent, head)
    if head is None and not refs.contains(refs.resolve("HEAD"), parent):
        raise RefMovedError(f"branch {refs.short} is gone and HEAD does not contain {parent[:12]} (start anew)")
    refs.check_free()


def _move(refs: Refs, head: str | None, parent: str, new: str, *, env: dict[str, str]) -> None:
    """The compare-and-swap: from the head that was seen (or from nothing) to the new commit."""
    old = head or "0" * len(parent)
    try:
        refs.git.run("update-ref", "-m", "honed: commits", refs.branch, new, old, env=env)
    except GitFailedError as error:
        now = refs.head()
        if now != head:
            raise refs.moved(parent, now) from error
        remedy = "rename the branch `honed`" if refs.exists("refs/heads/honed") else "is another git running?"
        raise RepositoryError(f"branch {refs.short} cannot be written: {error.stderr} ({remedy})") from error
