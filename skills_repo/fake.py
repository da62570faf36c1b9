"""A skill's history in memory, for tests and for code that needs no git.

Invariant: it passes the same conformance suite as `repository.py`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skills_repo.history import Author, BlamedLine, EditCommit, FileAt, RefMovedError, RepositoryError, SkillCommit
from skills_repo.log import describe
from skills_repo.message import place_of
from skills_repo.skill import Skill, from_files
from skills_repo.validate import validate

PERSON = Author("A Person", "person@example.com")


@dataclass(frozen=True)
class _Commit:
    parent: str | None
    files: Mapping[str, bytes]
    message: str
    author: Author
    when: float


class FakeSkillRepository:
    """The `SkillHistory` protocol on dictionaries. Starts with one commit by a person that holds the skill."""

    def __init__(self, skill: Skill, *, author: Author) -> None:
        self.name = skill.name
        self.author = author
        self.working: dict[str, bytes] = dict(skill.files)
        """What a person's working tree holds: differs from HEAD where it is dirty."""
        self._commits: dict[str, _Commit] = {}
        self._refs: dict[str, str] = {}
        self._refs["HEAD"] = self._add(_Commit(None, dict(skill.files), "Add the skill", PERSON, 0.0))

    @property
    def branch(self) -> str:
        """Full name of the branch that edits go to."""
        return f"refs/heads/honed/{self.name}"

    def human_commit(self, files: Mapping[str, bytes], message: str, when: float = 0.0) -> str:
        """A person commits on the honed branch (made at HEAD if missing), the skill then holding exactly `files`."""
        parent = self._refs.get(self.branch, self._refs["HEAD"])
        self._refs[self.branch] = self._add(_Commit(parent, dict(files), message, PERSON, when))
        return self._refs[self.branch]

    def message(self, commit: str) -> str:
        """A commit's whole message."""
        return self._commits[self._resolve(commit)].message

    def move_branch(self, commit: str) -> None:
        """A person resets the honed branch."""
        self._refs[self.branch] = self._resolve(commit)

    def move_head(self, commit: str) -> None:
        """A person takes a commit in on the branch that HEAD names."""
        self._refs["HEAD"] = self._resolve(commit)

    async def base(self) -> str:
        """The branch's head if there is one, else HEAD's commit."""
        return self._refs.get(self.branch, self._refs["HEAD"])

    async def read(self, ref: str) -> Skill:
        """The skill at a commit id, full ref name or `HEAD`."""
        skill = from_files(self.name, self._commits[self._resolve(ref)].files)
        validate(skill)
        return skill

    async def files(self, ref: str) -> tuple[FileAt, ...]:
        """The skill's folder as it is, valid or not; every file is a regular one."""
        files = self._commits[self._resolve(ref)].files
        return tuple(FileAt(path, "100644", files[path]) for path in sorted(files))

    async def commit_edits(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """Commit the changes and move the branch; see `SkillHistory.commit_edits`."""
        if not changes:
            raise RepositoryError("nothing to commit: no changes were given")
        parent = self._resolve(parent)
        head = self._refs.get(self.branch)
        if (head is not None and head != parent) or (head is None and parent not in self._line(self._refs["HEAD"])):
            raise RefMovedError(f"branch {self.branch} is not at {parent[:12]}: somebody moved it (start from there)")
        made = self._chain(parent, changes, when)
        self._refs[self.branch] = made[-1]
        return made

    def commit_beside(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """Commits that no branch holds, each change on top of the one before."""
        return self._chain(self._resolve(parent), changes, when)

    def _chain(self, onto: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        """All of them or none."""
        made: list[tuple[str, _Commit]] = []
        files = self._commits[onto].files
        for change in changes:
            if change.skill.name != self.name:
                raise RepositoryError(f"skill {change.skill.name!r} is not {self.name!r}: it cannot be committed here")
            if change.skill.files == files:
                raise RepositoryError(f"nothing to commit: skill {self.name} is unchanged")
            files = dict(change.skill.files)
            commit = _Commit(onto, files, change.message, self.author, float(int(when)))
            onto = _id(commit)
            made.append((onto, commit))
        self._commits.update(made)
        return tuple(commit for commit, _ in made)

    async def find_step(self, run_id: str, step: int, phase: str = "step") -> tuple[str, ...]:
        """The commits of one step's phase on the branch, oldest first."""
        if self.branch not in self._refs:
            return ()
        found = [self._describe(commit) for commit in reversed(self._line(self._refs[self.branch]))]
        return tuple(commit.sha for commit in found if place_of(commit.trailers) == (run_id, step, phase))

    async def log(self, limit: int = 50, at: str | None = None) -> tuple[SkillCommit, ...]:
        """The newest commits that changed the skill, newest first."""
        line = self._line(self._resolve(at or await self.base()))
        changed = [commit for commit in line if self._changes(commit)]
        return tuple(self._describe(commit) for commit in changed[:limit])

    async def commit(self, ref: str) -> SkillCommit:
        """One commit, whether it changed the skill or not."""
        return self._describe(self._resolve(ref))

    async def changed_beside(self, ref: str) -> tuple[str, ...]:
        """Nothing: there is nothing but the skill here."""
        self._resolve(ref)
        return ()

    async def blame(self, ref: str, path: str, lines: Sequence[int]) -> tuple[BlamedLine, ...]:
        """Who wrote these lines of a file of the skill's folder."""
        head = self._resolve(ref)
        files = self._commits[head].files
        last = len(_lines_of(files.get(path, b"")))
        if path not in files or not all(1 <= number <= last for number in lines):
            raise RepositoryError(f"{path} at {head[:12]} has no such line (see `honed diff`)")
        return tuple(self._blame_line(head, path, number) for number in lines)

    def _blame_line(self, oid: str, path: str, number: int) -> BlamedLine:
        """Down the line of commits, as long as the parent has the same line at a place that fits."""
        now = number
        while (parent := self._commits[oid].parent) is not None:
            before, after = (_lines_of(self._commits[one].files.get(path, b"")) for one in (parent, oid))
            blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
            block = next((block for block in blocks if block.b <= now - 1 < block.b + block.size), None)
            if block is None:
                break
            oid, now = parent, now - block.b + block.a
        return BlamedLine(number, self._describe(oid), now)

    async def dirty(self) -> tuple[str, ...]:
        """Paths where `working` differs from HEAD."""
        head = self._commits[self._refs["HEAD"]].files
        paths = sorted(head.keys() | self.working.keys())
        return tuple(f"{self.name}/{path}" for path in paths if head.get(path) != self.working.get(path))

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """True if `newer` contains `older`."""
        return self._resolve(older) in self._line(self._resolve(newer))

    def _add(self, commit: _Commit) -> str:
        oid = _id(commit)
        self._commits[oid] = commit
        return oid

    def _resolve(self, ref: str) -> str:
        oid = self._refs.get(ref, ref)
        if oid not in self._commits:
            raise RepositoryError(f"there is no commit {ref} (check the name)")
        return oid

    def _line(self, head: str) -> list[str]:
        """Ids from a commit back to the first, newest first."""
        line: list[str] = []
        at: str | None = head
        while at is not None:
            line.append(at)
            at = self._commits[at].parent
        return line

    def _changes(self, oid: str) -> bool:
        commit = self._commits[oid]
        return commit.parent is None or self._commits[commit.parent].files != commit.files

    def _describe(self, oid: str) -> SkillCommit:
        commit = self._commits[oid]
        return describe(oid, commit.parent or "", commit.author, commit.when, commit.message)


def _lines_of(data: bytes) -> list[bytes]:
    return data.removesuffix(b"\n").split(b"\n") if data else []


def _id(commit: _Commit) -> str:
    files = {path: hashlib.sha256(data).hexdigest() for path, data in sorted(commit.files.items())}
    author = [commit.author.name, commit.author.email]
    row = json.dumps([commit.parent, files, commit.message, author, commit.when])
    return hashlib.sha1(row.encode(), usedforsecurity=False).hexdigest()
