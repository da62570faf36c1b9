"""The `SkillHistory` seam: a skill's versions as commits; the real one is `repository.py`, the fake `fake.py`.

Invariants: nobody's working tree, index, stash or configuration is touched; a branch moves only from where the caller
saw it, and only once every commit exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skills_repo.skill import Skill


class RepositoryError(Exception):
    """The repository cannot be used; `str()` is one line: what, and the command that mends it."""


class NotCommittedError(RepositoryError):
    """There is nothing to read yet: no commit at all, or none with the skill's folder."""


class RefMovedError(RepositoryError):
    """Somebody else moved the branch: read it again and start from there."""


class SignsCommits(Protocol):
    """Who can sign commits in one repository. Blocking."""

    def commit_tree(self, tree: str, parent: str, message: bytes, who: Mapping[str, str]) -> str | None:
        """Make a signed commit object of a tree and give its id; None: it is to be made unsigned.

        `who` is the environment that says who commits and when. Raises `RepositoryError` where there must be a
        signature and can be none.
        """


@dataclass(frozen=True)
class Author:
    """Whose name commits carry, as author and committer."""

    name: str
    email: str
    signer: SignsCommits | None = field(default=None, compare=False, repr=False)
    """None: commits are not signed."""


@dataclass(frozen=True)
class EditCommit:
    """One commit to make."""

    skill: Skill
    """The skill after it."""
    message: str
    """Whole message, trailers included (`message.compose`)."""


@dataclass(frozen=True)
class FileAt:
    """A file of the skill's folder in a commit, as git holds it: nothing is checked."""

    path: str
    """Relative to the skill's folder; bytes that are not UTF-8 are surrogates."""
    mode: str
    """`100644`, `100755`, `120000` (a link; `data` is where it leads), `160000` (a submodule; `data` is its commit)."""
    data: bytes


@dataclass(frozen=True)
class SkillCommit:
    """One commit that changed the skill."""

    sha: str
    parents: tuple[str, ...]
    author: str
    """`Name <email>`."""
    when: float
    """Unix time of the author's date."""
    subject: str
    trailers: Mapping[str, str]
    """The `Honed-…` trailers; empty for people's commits."""
    kind: Literal["edit", "revert", "human"]
    reverts: str | None = None
    """For a revert, the commit taken back."""
    reason: str = ""
    """For a revert, what its author wrote beside git's own sentence."""
    body: str = ""
    """What the message says below its subject, without honed's own trailers."""


@dataclass(frozen=True)
class BlamedLine:
    """Who wrote a line of a file."""

    number: int
    """In the version that was asked about, from 1."""
    commit: SkillCommit
    """Where the line came in."""
    number_then: int
    """In that commit's version."""
    cut: bool = False
    """The clone is shallow and its history ends there: an older commit may have written it."""


class SkillHistory(Protocol):
    """One skill's history in one repository. Every method raises `RepositoryError`."""

    @property
    def branch(self) -> str:
        """Full name of the branch that edits go to: `refs/heads/honed/<skill name>`."""

    async def base(self) -> str:
        """The commit to start from: the branch's head if there is one, else HEAD's."""

    async def read(self, ref: str) -> Skill:
        """The skill at a commit id, a full ref name or `HEAD`; raises `SkillError` if it is there but not valid."""

    async def files(self, ref: str) -> tuple[FileAt, ...]:
        """The skill's folder at a commit id, a full ref name or `HEAD`, valid or not, ordered by path.

        Empty where the commit has no such folder; raises `SkillError` for a folder that is too large to read.
        """

    async def commit_edits(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """Commit each change on top of the one before, then move the branch from `parent` to the last.

        `when` (Unix seconds, read as UTC) dates all commits, so equal input gives equal commit ids. Raises
        `RefMovedError` if the branch is not at `parent` any more; then the branch stays where it is.
        """

    async def find_step(self, run_id: str, step: int, phase: str = "step") -> tuple[str, ...]:
        """The commits of one step's phase (`message.PHASES`) on the branch, oldest first: empty if there are none."""

    async def log(self, limit: int = 50, at: str | None = None) -> tuple[SkillCommit, ...]:
        """The newest commits that changed the skill, newest first: from `base()`, or another commit or ref."""

    async def commit(self, ref: str) -> SkillCommit:
        """One commit, whether it changed the skill or not."""

    async def changed_beside(self, ref: str) -> tuple[str, ...]:
        """Paths outside the skill's folder (relative to the repository) that a commit changed against its first parent.

        Ordered; of a commit without parents, those that it added.
        """

    async def blame(self, ref: str, path: str, lines: Sequence[int]) -> tuple[BlamedLine, ...]:
        """Who wrote these lines (numbers from 1) of a file of the skill's folder at a commit, in the order asked.

        Raises `RepositoryError` for a line or a file that is not there.
        """

    async def dirty(self) -> tuple[str, ...]:
        """Paths below the skill (relative to the repository) with uncommitted changes, ordered."""

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` contains `older` (or is it)."""
