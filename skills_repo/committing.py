"""Edits onto the skill's branch: objects first, then one compare-and-swap.

Invariant: a branch that is checked out is never moved, for its work tree would look dirty. Blocking.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from skills_repo import locks, objects
from skills_repo.git import GitFailedError
from skills_repo.history import Author, EditCommit, RefMovedError, RepositoryError
from skills_repo.log import holding
from skills_repo.paths import inner_skill
from skills_repo.refs import Refs
from skills_repo.skill import SKILL_FILE, Skill


def commit_edits(
    refs: Refs, skill_path: str, parent: str, changes: tuple[EditCommit, ...], *, author: Author, when: float
) -> tuple[str, ...]:
    """See `SkillHistory.commit_edits`."""
    if not changes:
        raise RepositoryError("nothing to commit: no changes were given")
    parent = refs.resolve(parent)
    head = refs.head()
    _check_movable(refs, skill_path, parent, head)
    before = objects.read_skill(refs.git, parent, skill_path)
    commits: list[str] = []
    for change in changes:
        _check_own(skill_path, before, change.skill)
        onto = commits[-1] if commits else parent
        made = objects.write_commit(refs.git, onto, skill_path, before=before, change=change, author=author, when=when)
        commits.append(made)
        before = change.skill
    argv = ("update-ref", "-m", "honed: commits", refs.branch, commits[-1], head or "0" * len(parent))
    swap(refs, head, lambda: refs.git.run(*argv, env=objects.identity(author, when)))
    return tuple(commits)


def check_writable(refs: Refs, skill_path: str) -> None:
    """Raise `RepositoryError` if edits could not be committed now, whatever they are."""
    refs.check_free()
    _check_shared(refs, skill_path, refs.head())
    locks.check(refs)


def _check_own(skill_path: str, before: Skill, after: Skill) -> None:
    """The change is of this skill, not of one inside it."""
    name = posixpath.basename(skill_path)
    if after.name != name:
        raise RepositoryError(f"skill {after.name!r} is not {name!r}: it cannot be committed here")
    paths = before.files.keys() | after.files.keys()
    for path in sorted(path for path in paths if before.files.get(path) != after.files.get(path)):
        if inner := inner_skill(path, paths):
            raise RepositoryError(
                f"{skill_path}/{path} belongs to the skill {skill_path}/{inner}, which is edited on its own"
                " (name that folder in [skill] path)"
            )


def _check_movable(refs: Refs, skill_path: str, parent: str, head: str | None) -> None:
    if head is not None and head != parent:
        raise refs.moved(parent, head)
    if head is None and not refs.contains(refs.resolve("HEAD"), parent):
        raise RefMovedError(f"branch {refs.short} is gone and HEAD does not contain {parent[:12]} (start anew)")
    refs.check_free()
    _check_shared(refs, skill_path, head)


def _check_shared(refs: Refs, skill_path: str, head: str | None) -> None:
    """The branch holds no edits of another skill whose folder has the same name, but those that HEAD has."""
    if head is None:
        return
    merged = [f"^{refs.resolve('HEAD')}"] if refs.exists("HEAD") else []
    options = (
        "--max-count=1",
        *holding("Honed-Run:"),
        "--format=",
        "-z",
        "--name-only",
        "--no-renames",
    )
    changed = refs.git.fields(["log", *options, head, *merged, "--"])
    if any(path.startswith(f"{skill_path}/") for path in changed):
        return
    name = posixpath.basename(skill_path)
    for path in changed:
        other = path.partition(f"/{name}/")[0] + f"/{name}" if f"/{name}/" in path else name
        if path.startswith(f"{other}/") and refs.git.fields(["ls-tree", "-z", head, "--", f"{other}/{SKILL_FILE}"]):
            raise RepositoryError(
                f"branch {refs.short} holds edits of another skill of that name, {other}, which HEAD does not have yet"
                f" (merge them and `git branch -D {refs.short}`, or give one of the two folders another name)"
            )


def swap(refs: Refs, head: str | None, move: Callable[[], object], *, again: bool = True) -> None:
    """Let `move` move the branch from the head that was seen (None: there was no branch); what stops it has a name.

    Raises `RefMovedError` if somebody moved it meanwhile.
    """
    try:
        move()
    except GitFailedError as error:
        now = refs.head()
        if now != head:
            raise refs.moved(head, now) from error
        if locks.exists(refs):
            if again and locks.clear(refs):
                return swap(refs, head, move, again=False)
            raise locks.locked(refs) from error
        remedy = "rename the branch `honed`" if refs.exists("refs/heads/honed") else "is another git running?"
        raise RepositoryError(f"branch {refs.short} cannot be written: {error.stderr} ({remedy})") from error
