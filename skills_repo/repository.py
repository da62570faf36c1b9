"""The skills repository: git behind the `SkillHistory` seam, by plumbing alone.

Invariants: objects first, then one compare-and-swap of one branch; a branch that is checked out is never moved, for
its work tree would look dirty; refs and ids that reach git have been checked against a pattern.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from skills_repo import log as logs
from skills_repo import objects
from skills_repo.bisect import Bisection, bisection
from skills_repo.blame import blame
from skills_repo.git import Git, GitFailedError
from skills_repo.history import (
    Author,
    BlamedLine,
    EditCommit,
    FileAt,
    NotCommittedError,
    RefMovedError,
    RepositoryError,
    SkillCommit,
)
from skills_repo.skill import Skill, SkillError, check_path
from skills_repo.validate import MAX_NAME, NAME, validate

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"HEAD|refs/(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/$))[A-Za-z0-9][A-Za-z0-9._/-]*")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def _plain_errors(
    work: Callable[Concatenate[SkillRepository, _P], _T],
) -> Callable[Concatenate[SkillRepository, _P], _T]:
    """Make whatever git refuses a `RepositoryError` that names the repository."""

    @wraps(work)
    def guarded(self: SkillRepository, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return work(self, *args, **kwargs)
        except GitFailedError as error:
            raise RepositoryError(f"{self.root}: {error} (run `git fsck` there if this persists)") from error

    return guarded


class SkillRepository:
    """One skill in one git repository (bare, linked work tree or plain)."""

    def __init__(self, root: Path, skill_path: str, *, author: Author) -> None:
        """`root` is the repository's top folder, `skill_path` the skill's folder in it (relative, POSIX)."""
        self.root = root.absolute()
        self.skill_path = skill_path.rstrip("/")
        self.author = author
        self._git = Git(self.root)
        self._checked = False
        self.name = posixpath.basename(self.skill_path)
        try:
            check_path(self.skill_path)
        except SkillError as error:
            raise RepositoryError(f"{skill_path!r} is no folder inside a repository (mend [skill] path)") from error
        if not NAME.fullmatch(self.name) or len(self.name) > MAX_NAME:
            raise RepositoryError(
                f"{self.name!r} is no skill name: lowercase letters, digits, single hyphens (rename the folder)"
            )

    @property
    def branch(self) -> str:
        """Full name of the branch that edits go to."""
        return f"refs/heads/honed/{self.name}"

    async def base(self) -> str:
        """The branch's head if there is one, else HEAD's commit."""
        return await asyncio.to_thread(self._base)

    async def read(self, ref: str) -> Skill:
        """The skill at a commit id, full ref name or `HEAD`."""
        return await asyncio.to_thread(self._read, ref)

    async def files(self, ref: str) -> tuple[FileAt, ...]:
        """The skill's folder as it is, valid or not."""
        return await asyncio.to_thread(self._files, ref)

    async def commit_edits(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """Commit the changes and move the branch; see `SkillHistory.commit_edits`."""
        return await asyncio.to_thread(self._commit_edits, parent, tuple(changes), when)

    async def find_step(self, run_id: str, step: int, phase: str = "step") -> tuple[str, ...]:
        """The commits of one step's phase on the branch, oldest first."""
        return await asyncio.to_thread(self._find_step, run_id, step, phase)

    async def log(self, limit: int = 50) -> tuple[SkillCommit, ...]:
        """The newest commits that changed the skill, newest first."""
        return await asyncio.to_thread(self._log, limit)

    async def commit(self, ref: str) -> SkillCommit:
        """One commit, whether it changed the skill or not."""
        return await asyncio.to_thread(self._commit, ref)

    async def changed_beside(self, ref: str) -> tuple[str, ...]:
        """Paths outside the skill that a commit changed."""
        return await asyncio.to_thread(self._changed_beside, ref)

    async def blame(self, ref: str, path: str, lines: Sequence[int]) -> tuple[BlamedLine, ...]:
        """Who wrote these lines of a file of the skill's folder."""
        return await asyncio.to_thread(self._blame, ref, path, tuple(lines))

    async def dirty(self) -> tuple[str, ...]:
        """Uncommitted paths below the skill."""
        return await asyncio.to_thread(self._dirty)

    async def resolve(self, name: str) -> str:
        """The commit id behind a name that a person gave: a branch, tag, short id or `name~2`."""
        return await asyncio.to_thread(self._resolve_name, name)

    async def check_writable(self) -> None:
        """Raise `RepositoryError` if the branch could not be moved now, so that it is known before work is done."""
        await asyncio.to_thread(self._check_writable)

    async def overlooked(self) -> str:
        """One sentence if the skill was changed on HEAD since the branch left it (or was merged); else empty."""
        return await asyncio.to_thread(self._overlooked)

    def bisection(self, good: str, bad: str) -> AbstractContextManager[Bisection]:
        """A search among the commits between two (full ids) that changed the skill. Blocks: use it from a thread."""
        return bisection(self._git, self.skill_path, self._resolve(good), self._resolve(bad))

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` contains `older`."""
        return await asyncio.to_thread(self._is_ancestor, older, newer)

    @_plain_errors
    def _base(self) -> str:
        self._check()
        return self._head() or self._resolve("HEAD")

    @_plain_errors
    def _read(self, ref: str) -> Skill:
        self._check()
        try:
            skill = objects.read_skill(self._git, self._resolve(ref), self.skill_path)
            validate(skill)
        except SkillError as error:
            raise error.below(self.skill_path) from error
        return skill

    @_plain_errors
    def _files(self, ref: str) -> tuple[FileAt, ...]:
        self._check()
        try:
            return objects.read_files(self._git, self._resolve(ref), self.skill_path)
        except SkillError as error:
            raise error.below(self.skill_path) from error

    @_plain_errors
    def _commit_edits(self, parent: str, changes: tuple[EditCommit, ...], when: float) -> tuple[str, ...]:
        self._check()
        if not changes:
            raise RepositoryError("nothing to commit: no changes were given")
        parent = self._resolve(parent)
        head = self._head()
        self._check_movable(parent, head)
        before = objects.read_skill(self._git, parent, self.skill_path)
        commits: list[str] = []
        for change in changes:
            if change.skill.name != self.name:
                raise RepositoryError(f"skill {change.skill.name!r} is not {self.name!r}: it cannot be committed here")
            onto = commits[-1] if commits else parent
            made = objects.write_commit(
                self._git, onto, self.skill_path, before=before, change=change, author=self.author, when=when
            )
            commits.append(made)
            before = change.skill
        self._move(head, parent, commits[-1], when)
        return tuple(commits)

    def _check_movable(self, parent: str, head: str | None) -> None:
        if head is not None and head != parent:
            raise self._moved(parent, head)
        if head is None and not self._contains(self._resolve("HEAD"), parent):
            raise RefMovedError(f"branch {self._short} is gone and HEAD does not contain {parent[:12]} (start anew)")
        self._check_free()

    @_plain_errors
    def _check_writable(self) -> None:
        self._check()
        self._check_free()

    def _check_free(self) -> None:
        where = self._checked_out()
        if where is not None:
            raise RepositoryError(
                f"branch {self._short} is checked out at {where}: committing would make that work tree look dirty"
                f" (run `git -C {where} switch --detach` there)"
            )

    def _move(self, head: str | None, parent: str, new: str, when: float) -> None:
        """The compare-and-swap: from the head that was seen (or from nothing) to the new commit."""
        old = head or "0" * len(parent)
        env = objects.identity(self.author, when)
        try:
            self._git.run("update-ref", "-m", "honed: commits", self.branch, new, old, env=env)
        except GitFailedError as error:
            now = self._head()
            if now != head:
                raise self._moved(parent, now) from error
            remedy = "rename the branch `honed`" if self._exists("refs/heads/honed") else "is another git running?"
            raise RepositoryError(f"branch {self._short} cannot be written: {error.stderr} ({remedy})") from error

    @_plain_errors
    def _find_step(self, run_id: str, step: int, phase: str) -> tuple[str, ...]:
        self._check()
        head = self._head()
        return () if head is None else logs.find_step(self._git, head, self.skill_path, (run_id, step, phase))

    @_plain_errors
    def _log(self, limit: int) -> tuple[SkillCommit, ...]:
        return logs.read_log(self._git, self._base(), self.skill_path, limit)

    @_plain_errors
    def _commit(self, ref: str) -> SkillCommit:
        self._check()
        oid = self._resolve(ref)
        return logs.read_commits(self._git, [oid])[oid]

    @_plain_errors
    def _changed_beside(self, ref: str) -> tuple[str, ...]:
        self._check()
        oid = self._resolve(ref)
        ends = self._git.line("rev-list", "--parents", "--max-count=1", oid).split()
        argv = ["diff-tree", "--root", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames", *ends[1:2], oid]
        return tuple(sorted(path for path in self._git.fields(argv) if not path.startswith(f"{self.skill_path}/")))

    @_plain_errors
    def _blame(self, ref: str, path: str, lines: tuple[int, ...]) -> tuple[BlamedLine, ...]:
        self._check()
        return blame(self._git, self._resolve(ref), self.skill_path, path, lines)

    @_plain_errors
    def _dirty(self) -> tuple[str, ...]:
        self._check()
        if self._git.line("rev-parse", "--is-inside-work-tree") != "true":
            return ()
        flags = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=none")
        rows = self._git.fields(["status", *flags, "--", self.skill_path])
        return tuple(sorted(row[3:] for row in rows))

    @_plain_errors
    def _is_ancestor(self, older: str, newer: str) -> bool:
        self._check()
        if self._contains(self._resolve(newer), self._resolve(older)):
            return True
        if self._git.line("rev-parse", "--is-shallow-repository") == "true":
            raise RepositoryError(f"{self.root} is a shallow clone: its history is cut (run `git fetch --unshallow`)")
        return False

    def _contains(self, newer: str, older: str) -> bool:
        try:
            self._git.run("merge-base", "--is-ancestor", older, newer)
        except GitFailedError as error:
            if error.code == 1:
                return False
            raise
        return True

    @property
    def _short(self) -> str:
        return self.branch.removeprefix("refs/heads/")

    def _check(self) -> None:
        """Once: the root is a repository's top folder, and git can read it."""
        if self._checked:
            return
        try:
            prefix = self._git.line("rev-parse", "--show-prefix")
        except GitFailedError as error:
            if "not a git repository" in error.stderr:
                raise RepositoryError(f"{self.root} is not a git repository (run `git init` there)") from error
            raise
        if prefix:
            top = self._git.line("rev-parse", "--show-toplevel")
            raise RepositoryError(f"{self.root} is inside the repository {top} (name that in [skill] repository)")
        self._checked = True

    def _resolve(self, ref: str) -> str:
        """The commit id that a ref or id stands for."""
        if not (_OID.fullmatch(ref) or _REF.fullmatch(ref)):
            raise RepositoryError(f"{ref!r} is neither a full commit id nor a full ref name")
        try:
            return self._git.line("rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}")
        except GitFailedError as error:
            if ref == "HEAD":
                raise NotCommittedError(f"{self.root} has no commits yet (commit the skill first)") from error
            hint = "fetch it" if _OID.fullmatch(ref) else "check the name"
            raise RepositoryError(f"there is no commit {ref} in {self.root} ({hint})") from error

    @_plain_errors
    def _overlooked(self) -> str:
        self._check()
        ours = self._head()
        theirs = self._resolve("HEAD")
        if ours is None:
            return ""
        try:
            common = self._git.line("merge-base", ours, theirs)
            then = objects.read_skill(self._git, common, self.skill_path)
            if objects.read_skill(self._git, theirs, self.skill_path).digest == then.digest:
                return ""
        except GitFailedError as error:
            if error.code != 1:
                raise
            return ""  # nothing in common: there is no change to speak of
        except (SkillError, RepositoryError):
            pass  # not readable on one side: then it was changed for sure
        return (
            f"HEAD ({theirs[:10]}) has another version of {self.skill_path} than {self._short} ({ours[:10]}), "
            f"which is the one used: merge HEAD into it, or `git branch -D {self._short}` to start from HEAD"
        )

    @_plain_errors
    def _resolve_name(self, name: str) -> str:
        self._check()
        try:
            return self._git.line("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        except GitFailedError as error:
            raise RepositoryError(
                f"there is no commit {name!r} in {self.root} (see `git branch` and `git log`)"
            ) from error

    def _exists(self, ref: str) -> bool:
        try:
            self._git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        except GitFailedError as error:
            if error.code == 1:
                return False
            raise
        return True

    def _head(self) -> str | None:
        """The branch's commit, if there is one."""
        return self._resolve(self.branch) if self._exists(self.branch) else None

    def _checked_out(self) -> str | None:
        """The work tree that has the branch checked out; one whose folder is gone does not count."""
        for block in self._git.line("worktree", "list", "--porcelain").split("\n\n"):
            rows = block.split("\n")
            if f"branch {self.branch}" in rows and not any(row.startswith("prunable") for row in rows):
                return rows[0].removeprefix("worktree ")
        return None

    def _moved(self, parent: str, now: str | None) -> RefMovedError:
        at = "gone" if now is None else f"at {now[:12]}"
        return RefMovedError(
            f"branch {self._short} is {at}, not at {parent[:12]}: somebody moved it (start from there)"
        )
