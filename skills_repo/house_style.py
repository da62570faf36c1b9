"""The convention of a repository's commits, read from what people committed before a commit: see `convention.py`.

Invariants: a function of that commit's history alone, so every process of a run comes to the same; nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skills_repo.convention import LEAST, Convention, convention_of
from skills_repo.git import Git, GitFailedError
from skills_repo.history import Author, RepositoryError

NEWEST = 50
"""Commits of people that are looked at."""
_READ = 200
"""Of those that are read: bots' commits follow nobody's taste and are left out."""
_BOT = "[bot]"
_FORMAT = "%s%x00%an%x00%ae%x00%(trailers:key=Signed-off-by,valueonly,separator=%x2C)%x00"
_COLUMNS = 4


@dataclass(frozen=True)
class _Row:
    subject: str
    name: str
    email: str
    signed_off: str

    @property
    def by_person(self) -> bool:
        return _BOT not in self.name and _BOT not in self.email

    @property
    def signs_off(self) -> bool:
        """By whoever wrote it."""
        return f"<{self.email}>" in self.signed_off


class HouseStyle:
    """Reads how one repository words its commits. Raises `RepositoryError`."""

    def __init__(self, root: Path, skill_path: str, *, author: Author) -> None:
        """`author` is who signs off where people do."""
        self._git = Git(root.absolute())
        self._skill_path = skill_path.rstrip("/")
        self._author = author

    async def at(self, commit: str) -> Convention:
        """The convention as it is at a commit (full id), people's commits below it alone."""
        return await asyncio.to_thread(self._at, commit)

    def _at(self, commit: str) -> Convention:
        try:
            recent, of_skill = self._rows(commit), self._rows(commit, "--", self._skill_path)
        except GitFailedError as error:
            raise RepositoryError(f"{self._git.folder}: {error} (run `git fsck` there if this persists)") from error
        signs = 2 * sum(row.signs_off for row in recent) > len(recent) >= LEAST
        sign_off = f"{self._author.name} <{self._author.email}>" if signs else ""
        return convention_of([row.subject for row in recent], [row.subject for row in of_skill], sign_off=sign_off)

    def _rows(self, commit: str, *paths: str) -> Sequence[_Row]:
        """Newest first; neither merges nor what honed wrote."""
        people = ("--no-merges", "--basic-regexp", "--invert-grep", "--grep=^Honed-Run: ", f"--max-count={_READ}")
        plain = ("--no-show-signature", "--no-notes", f"--format=tformat:{_FORMAT}")
        fields = self._git.fields(["log", "--topo-order", *people, *plain, commit, *paths])
        rows = [_Row(one[0].lstrip("\n"), *one[1:]) for one in zip(*[iter(fields)] * _COLUMNS, strict=True)]
        return [row for row in rows if row.by_person][:NEWEST]
