"""The skills repository: git behind the `SkillHistory` seam, by plumbing alone.

Invariants: every blocking call runs in a thread; whatever git refuses becomes a `RepositoryError` that names the
repository. What is done, and what must hold there: `refs.py`, `reading.py`, `committing.py`, `log.py`.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ParamSpec, TypeVar

from skills_repo import committing, following, reading
from skills_repo import log as logs
from skills_repo.acts import Acts
from skills_repo.bisect import Bisection, bisection
from skills_repo.blame import blame
from skills_repo.followed import Followed, followed_to
from skills_repo.git import Git, GitFailedError
from skills_repo.history import Author, BlamedLine, EditCommit, FileAt, RepositoryError, SkillCommit
from skills_repo.refs import Refs
from skills_repo.skill import Skill, SkillError, check_path
from skills_repo.validate import MAX_NAME, NAME

_P = ParamSpec("_P")
_T = TypeVar("_T")


class SkillRepository:
    """One skill in one git repository (bare, linked work tree or plain)."""

    def __init__(self, root: Path, skill_path: str, *, author: Author) -> None:
        """`root` is the repository's top folder, `skill_path` the skill's folder in it (relative, POSIX)."""
        self.root = root.absolute()
        self.skill_path = skill_path.rstrip("/")
        self.author = author
        self.name = posixpath.basename(self.skill_path)
        try:
            check_path(self.skill_path)
        except SkillError as error:
            msg = f"{skill_path!r} cannot be a skill's folder in a repository: {error.what}"
            raise RepositoryError(f"{msg} (mend [skill] path)") from error
        if not NAME.fullmatch(self.name) or len(self.name) > MAX_NAME:
            raise RepositoryError(
                f"{self.name!r} is no skill name: lowercase letters, digits, single hyphens (rename the folder)"
            )
        self._git = Git(self.root)
        self._refs = Refs(self._git, self.branch)

    @property
    def branch(self) -> str:
        """Full name of the branch that edits go to."""
        return f"refs/heads/honed/{self.name}"

    async def base(self) -> str:
        """The branch's head if there is one, else HEAD's commit."""
        return await self._run(self._refs.base)

    async def read(self, ref: str) -> Skill:
        """The skill at a commit id, full ref name or `HEAD`."""
        return await self._run(reading.read, self._refs, self.skill_path, ref)

    async def files(self, ref: str) -> tuple[FileAt, ...]:
        """The skill's folder as it is, valid or not."""
        return await self._run(reading.files, self._refs, self.skill_path, ref)

    async def commit_edits(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """Commit the changes and move the branch; see `SkillHistory.commit_edits`."""
        refs, path, changed = self._refs, self.skill_path, tuple(changes)
        return await self._run(committing.commit_edits, refs, path, parent, changed, author=self.author, when=when)

    async def find_step(self, run_id: str, step: int, phase: str = "step") -> tuple[str, ...]:
        """The commits of one step's phase on the branch, oldest first."""
        head = await self._run(self._refs.head)
        place = (run_id, step, phase)
        return () if head is None else await self._run(logs.find_step, self._git, head, self.skill_path, place)

    async def log(self, limit: int = 50, at: str | None = None) -> tuple[SkillCommit, ...]:
        """The newest commits that changed the skill, newest first."""
        head = await self._resolved(at) if at else await self.base()
        return await self._run(logs.read_log, self._git, head, self.skill_path, limit)

    async def commit(self, ref: str) -> SkillCommit:
        """One commit, whether it changed the skill or not."""
        oid = await self._resolved(ref)
        return (await self._run(logs.read_commits, self._git, [oid]))[oid]

    async def changed_beside(self, ref: str) -> tuple[str, ...]:
        """Paths outside the skill that a commit changed."""
        return await self._run(reading.changed_beside, self._git, self.skill_path, await self._resolved(ref))

    async def blame(self, ref: str, path: str, lines: Sequence[int]) -> tuple[BlamedLine, ...]:
        """Who wrote these lines of a file of the skill's folder."""
        return await self._run(blame, self._git, await self._resolved(ref), self.skill_path, path, tuple(lines))

    async def dirty(self) -> tuple[str, ...]:
        """Uncommitted paths below the skill."""
        return await self._run(reading.dirty, self._refs, self.skill_path)

    async def resolve(self, name: str) -> str:
        """The commit id behind a name that a person gave: a branch, tag, short id or `name~2`."""
        return await self._run(self._refs.resolve_name, name)

    async def check_writable(self) -> None:
        """Raise `RepositoryError` if the branch could not be moved now, so that it is known before work is done."""
        await self._run(committing.check_writable, self._refs, self.skill_path)

    async def overlooked(self) -> str:
        """One sentence if the skill was changed on HEAD since the branch left it (or was merged); else empty."""
        return await self._run(reading.overlooked, self._refs, self.skill_path)

    async def follow(self, *, max_chars: int) -> Followed | None:
        """Make unpublished edits again on the version of the skill that a person committed to HEAD.

        None where there is nothing to follow. See `following.py`.
        """
        path, author = self.skill_path, self.author
        behind = await self._run(following.look, self._refs, path, author)
        if behind is None:
            return None
        unwanted = await Acts(self).copies_taken_back(behind.theirs, behind.commits)
        return await self._run(
            following.follow, self._refs, path, behind, author=author, max_chars=max_chars, unwanted=unwanted
        )

    async def followed_to(self, base: str) -> Followed | None:
        """What led the branch to this commit, if `follow` did."""
        return await self._run(followed_to, self._refs, base)

    def bisection(self, good: str, bad: str) -> AbstractContextManager[Bisection]:
        """A search among the commits between two (full ids) that changed the skill. Blocks: use it from a thread."""
        return bisection(self._git, self.skill_path, self._refs.resolve(good), self._refs.resolve(bad))

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` contains `older`."""
        return await self._run(self._refs.is_ancestor, older, newer)

    async def _resolved(self, ref: str) -> str:
        return await self._run(self._refs.resolve, ref)

    async def _run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Blocking work in a thread; whatever git refuses becomes a `RepositoryError` that names the repository."""
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except GitFailedError as error:
            remedy = await asyncio.to_thread(self._refs.remedy, self.skill_path)
            raise RepositoryError(f"{self.root}: {error} ({remedy})") from error
        except OSError as error:
            where = error.filename or self.root
            raise RepositoryError(f"{where}: {error.strerror or error} (check rights and free space)") from error
