"""Rejected edits in git: each set is a chain of commits under `refs/honed/rejected/<skill>/<name>`.

The ref names an annotated tag on the last commit: the tag says who turned the set down, why and when, so commits that
exist already can be kept as they are. Invariants: objects first, then one compare-and-swap of one ref; no branch moves.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, ParamSpec, TypeVar

from skills_repo import locks, objects
from skills_repo import log as logs
from skills_repo.git import Git, GitFailedError
from skills_repo.history import Author, EditCommit, RepositoryError, SkillCommit
from skills_repo.refs import Refs
from skills_repo.rejected import RejectedCommit, check_set, newest_first, reason_of

By = Literal["gate", "person"]
_P = ParamSpec("_P")
_T = TypeVar("_T")
_LINE = re.compile(r"Honed-(Rejected|Reason|Commit): (.*)")
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TITLES: dict[By, str] = {"gate": "Rejected by the gate", "person": "Turned down by a person"}
_FORMAT = "%(refname)%00%(objectname)%00%(objecttype)%00%(taggerdate:unix)%00%(contents)%00"
_COLUMNS = 5


@dataclass(frozen=True)
class _Set:
    """One ref with what its tag says."""

    name: str
    tag: str
    by: By
    reason: str
    when: float
    commits: tuple[str, ...]


def keep_turned_down(refs: Refs, skill_path: str, author: Author, revert: SkillCommit) -> None:
    """Keep an edit that no branch holds any more, with what the person said who reverted it. Blocks."""
    edit = revert.reverts or ""
    store = RejectedRefs(refs.git.folder, skill_path, author=author)
    store.keep_commits_now(f"reverted-{edit[:12]}", (edit,), revert.reason, revert.when)


class RejectedRefs:
    """`RejectedEdits` on real git, for one skill of one repository."""

    def __init__(self, root: Path, skill_path: str, *, author: Author) -> None:
        """`root` is the repository's top folder, `skill_path` the skill's folder in it."""
        self._skill_path = skill_path.rstrip("/")
        self._name = posixpath.basename(self._skill_path)
        self._author = replace(author, signer=None)  # what nobody merges is not vouched for
        self._git = Git(root.absolute())
        self._refs = Refs(self._git, f"refs/heads/honed/{self._name}")
        self._below = f"refs/honed/rejected/{self._name}/"

    async def keep(
        self, name: str, parent: str, changes: tuple[EditCommit, ...], *, by: By, when: float, reason: str = ""
    ) -> tuple[str, ...]:
        """See `RejectedEdits.keep`."""
        empty = _Set(name, "", by, reason_of(reason, changes), when, ())
        return await self._run(self._keep, empty, parent, changes)

    async def keep_commits(self, name: str, commits: tuple[str, ...], *, reason: str, when: float) -> None:
        """See `RejectedEdits.keep_commits`."""
        await self._run(self.keep_commits_now, name, commits, reason, when)

    async def all(self) -> tuple[RejectedCommit, ...]:
        """See `RejectedEdits.all`."""
        return await self._run(self._all)

    async def prune(self, *, older_than: float, most: int) -> tuple[str, ...]:
        """See `RejectedEdits.prune`."""
        return await self._run(self._prune, older_than, most)

    async def _run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except GitFailedError as error:
            raise RepositoryError(f"{self._git.folder}: {error} (run `git fsck` there if this persists)") from error

    def _keep(self, empty: _Set, parent: str, changes: tuple[EditCommit, ...]) -> tuple[str, ...]:
        check_set(empty.name, changes)
        if found := self._find(empty.name):
            return found.commits
        onto = self._refs.resolve(parent)
        before = objects.read_skill(self._git, onto, self._skill_path)
        made: list[str] = []
        for change in changes:
            if change.skill.name != self._name:
                raise RepositoryError(f"skill {change.skill.name!r} is not {self._name!r}: it cannot be kept here")
            onto = objects.write_commit(
                self._git, onto, self._skill_path, before=before, change=change, author=self._author, when=empty.when
            )
            made.append(onto)
            before = change.skill
        return self._point(replace(empty, commits=tuple(made)))

    def keep_commits_now(self, name: str, commits: tuple[str, ...], reason: str, when: float) -> None:
        """`keep_commits` for callers in a thread."""
        check_set(name, commits)
        if self._find(name):
            return
        ids = tuple(self._refs.resolve(commit) for commit in commits)
        for one in ids[:-1]:
            if not self._refs.contains(ids[-1], one):
                raise RepositoryError(f"{name}: {ids[-1][:12]} does not contain {one[:12]} (name the newest last)")
        self._point(_Set(name, "", "person", reason_of(reason), when, ids))

    def _point(self, one: _Set) -> tuple[str, ...]:
        """Make the tag, then the ref if there is none of that name yet; what is kept: the first of two that race."""
        author = f"{self._author.name} <{self._author.email}> {int(one.when)} +0000"
        head = f"object {one.commits[-1]}\ntype commit\ntag {one.name}\ntagger {author}\n\n"
        rows = [f"{_TITLES[one.by]}\n", f"Honed-Rejected: {one.by}"]
        rows += [f"Honed-Reason: {one.reason}"] if one.reason else []
        rows += [f"Honed-Commit: {commit}" for commit in one.commits]
        tag = self._git.line("mktag", stdin=(head + "\n".join(rows) + "\n").encode())
        env = objects.identity(self._author, one.when)
        ref = Refs(self._git, self._below + one.name)
        try:
            self._git.run("update-ref", ref.branch, tag, "0" * len(tag), env=env)
        except GitFailedError as error:
            if found := self._find(one.name):
                return found.commits
            if not locks.exists(ref):
                raise
            if not locks.clear(ref):
                raise locks.locked(ref) from error
            return self._point(one)
        return one.commits

    def _find(self, name: str) -> _Set | None:
        """The set of this name, as it is kept."""
        self._refs.check()
        return next((one for one in self._sets(self._below + name) if one.name == name), None)

    def _sets(self, pattern: str) -> list[_Set]:
        """Newest first. What is no tag of ours is not ours to read or to drop."""
        fields = self._git.fields(["for-each-ref", f"--format={_FORMAT}", pattern])
        rows = zip(*[iter(fields)] * _COLUMNS, strict=True)
        found = [self._read(row[0].lstrip("\n"), *row[1:]) for row in rows]
        sets = [one for one in found if one is not None]
        return sorted(sets, key=lambda one: newest_first((one.name, one.when)), reverse=True)

    def _read(self, ref: str, tag: str, kind: str, when: str, text: str) -> _Set | None:
        said: dict[str, list[str]] = {"Rejected": [], "Reason": [], "Commit": []}
        for line in text.split("\n"):
            if match := _LINE.fullmatch(line):
                said[match[1]].append(match[2])
        ids = tuple(one for one in said["Commit"] if _OID.fullmatch(one))
        by: By | None = next((by for by in _TITLES if said["Rejected"] == [by]), None)
        if kind != "tag" or by is None or not ids or not when.isdigit():
            return None
        return _Set(ref.removeprefix(self._below), tag, by, reason_of("".join(said["Reason"][:1])), float(when), ids)

    def _all(self) -> tuple[RejectedCommit, ...]:
        self._refs.check()
        sets = self._sets(self._below)
        commits = logs.read_commits(self._git, self._commits([oid for one in sets for oid in one.commits]))
        return tuple(
            RejectedCommit(oid, next(iter(commits[oid].parents), ""), one.by, one.reason, one.when)
            for one in sets
            for oid in one.commits
            if oid in commits and commits[oid].trailers.get("Honed-Phase") != "initial"
        )

    def _commits(self, ids: Sequence[str]) -> list[str]:
        """Those that are there and are commits: a tag can be written by anybody."""
        known = list(dict.fromkeys(ids))
        stdin = "".join(f"{oid}\n" for oid in known).encode()
        kinds = self._git.line("cat-file", "--batch-check=%(objecttype)", stdin=stdin).split("\n")
        return [oid for oid, kind in zip(known, kinds, strict=False) if kind == "commit"]

    def _prune(self, older_than: float, most: int) -> tuple[str, ...]:
        self._refs.check()
        mine = [one for one in self._sets(self._below) if one.by == "gate"]
        gone = [one for place, one in enumerate(mine) if one.when < older_than or place >= most]
        if gone:
            rows = "".join(f"delete {self._below}{one.name} {one.tag}\n" for one in gone)
            self._git.run("update-ref", "--stdin", stdin=rows.encode())
        return tuple(one.name for one in gone)
