"""One repository's names: which commit a ref, an id or a person's word stands for, and where the skill's branch is.

Invariants: nothing is written; refs and ids that reach git have been checked against a pattern. Blocking.
"""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from pathlib import Path

from skills_repo.git import Git, GitFailedError
from skills_repo.history import NotCommittedError, RefMovedError, RepositoryError

_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"HEAD|refs/(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|/$))[A-Za-z0-9][A-Za-z0-9._/-]*")


class Refs:
    """Names of one repository, seen by one skill. Methods raise `RepositoryError`, or `GitFailedError` for the rest."""

    def __init__(self, git: Git, branch: str) -> None:
        """`branch` is the full name of the branch that the skill's edits go to."""
        self.git = git
        self.root: Path = git.folder
        self.branch = branch
        self._checked = False

    @property
    def short(self) -> str:
        """The branch as people write it."""
        return self.branch.removeprefix("refs/heads/")

    def check(self) -> None:
        """Once: the root is a repository's top folder, and git can read it."""
        if self._checked:
            return
        try:
            prefix = self.git.line("rev-parse", "--show-prefix")
        except GitFailedError as error:
            if "not a git repository" in error.stderr:
                raise RepositoryError(f"{self.root} is not a git repository (run `git init` there)") from error
            raise
        if prefix:
            top = self.git.line("rev-parse", "--show-toplevel")
            raise RepositoryError(f"{self.root} is inside the repository {top} (name that in [skill] repository)")
        self._checked = True

    def resolve(self, ref: str) -> str:
        """The commit id that a full ref name, a full id or `HEAD` stands for."""
        self.check()
        if not (_OID.fullmatch(ref) or _REF.fullmatch(ref)):
            raise RepositoryError(f"{ref!r} is neither a full commit id nor a full ref name")
        try:
            return self.git.line("rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{commit}")
        except GitFailedError as error:
            if ref == "HEAD":
                raise NotCommittedError(f"{self.root} has no commits yet (commit the skill first)") from error
            hint = "fetch it" if _OID.fullmatch(ref) else "check the name"
            raise RepositoryError(f"there is no commit {ref} in {self.root} ({hint})") from error

    def resolve_name(self, name: str) -> str:
        """The commit id behind a name that a person gave."""
        self.check()
        try:
            return self.git.line("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
        except GitFailedError as error:
            raise RepositoryError(
                f"there is no commit {name!r} in {self.root} (see `git branch` and `git log`)"
            ) from error

    def exists(self, ref: str) -> bool:
        """There is such a ref."""
        self.check()
        try:
            self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
        except GitFailedError as error:
            if error.code == 1:
                return False
            raise
        return True

    def head(self) -> str | None:
        """The branch's commit, if there is one."""
        self.check()
        try:
            return self.git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{self.branch}^{{commit}}")
        except GitFailedError as error:
            if error.code == 1:
                return None
            raise

    def base(self) -> str:
        """The branch's commit if there is one, else HEAD's."""
        return self.head() or self.resolve("HEAD")

    def contains(self, newer: str, older: str) -> bool:
        """`newer` has `older` among its ancestors, or is it; both are ids."""
        try:
            self.git.run("merge-base", "--is-ancestor", older, newer)
        except GitFailedError as error:
            if error.code == 1:
                return False
            raise
        return True

    def is_ancestor(self, older: str, newer: str) -> bool:
        """The same for any refs; raises `RepositoryError` where a shallow clone cannot tell."""
        if self.contains(self.resolve(newer), self.resolve(older)):
            return True
        if self.git.line("rev-parse", "--is-shallow-repository") == "true":
            raise RepositoryError(f"{self.root} is a shallow clone: its history is cut (run `git fetch --unshallow`)")
        return False

    def remedy(self, skill_path: str) -> str:
        """What may mend a command of git's that failed."""
        try:
            self.git.run("config", "--get-regexp", r"^remote\..*\.promisor$")
        except GitFailedError:
            return "run `git fsck` there if this persists"
        command = f"git log --all --patch -- {shlex.quote(skill_path)} > /dev/null"
        return f"it is a partial clone, and honed uses no credentials of yours: fetch what is missing with `{command}`"

    def check_free(self) -> None:
        """Raise `RepositoryError` if a work tree has the branch checked out or rebases it, or if it is another's."""
        self.check()
        if (where := self._checked_out()) is not None:
            raise RepositoryError(
                f"branch {self.short} is checked out at {where}: committing would make that work tree look dirty"
                f" (run `git -C {where} switch --detach` there)"
            )
        if (state := self._rebased()) is not None:
            raise RepositoryError(
                f"branch {self.short} is being rebased ({state}): the rebase could not end if it moved"
                " (run `git rebase --continue` or `--abort` there)"
            )
        if (target := self._stands_for()) is not None:
            raise RepositoryError(
                f"branch {self.short} is only another name of {target}, which honed does not move"
                f" (run `git symbolic-ref --delete {self.branch}`)"
            )

    def _rebased(self) -> Path | None:
        """What git keeps of a rebase, in any work tree, that will move the branch at its end."""
        common = (self.root / self.git.line("rev-parse", "--git-common-dir")).absolute()
        for place in (common, *sorted(common.glob("worktrees/*"))):
            for state in (place / "rebase-merge", place / "rebase-apply"):
                for name in ("head-name", "update-refs"):
                    with suppress(FileNotFoundError, NotADirectoryError):
                        if self.branch in (state / name).read_text("utf-8", "replace").split("\n"):
                            return state
        return None

    def _stands_for(self) -> str | None:
        """The branch that this one is a symbolic ref to."""
        try:
            return self.git.line("symbolic-ref", "--quiet", self.branch)
        except GitFailedError as error:
            if error.code == 1:
                return None
            raise

    def _checked_out(self) -> str | None:
        """The work tree that has the branch checked out; one whose folder is gone does not count."""
        for block in self.git.line("worktree", "list", "--porcelain").split("\n\n"):
            rows = block.split("\n")
            if f"branch {self.branch}" in rows and not any(row.startswith("prunable") for row in rows):
                return rows[0].removeprefix("worktree ")
        return None

    def moved(self, seen: str | None, now: str | None) -> RefMovedError:
        """The error that says where the branch is instead of where it was seen."""
        at = "gone" if now is None else f"at {now[:12]}"
        was = f", not at {seen[:12]}" if seen else ""
        return RefMovedError(f"branch {self.short} is {at}{was}: somebody moved it (start from there)")
