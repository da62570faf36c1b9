"""Reports of runs as git notes (`refs/notes/honed`): `git notes --ref=honed show` reads them.

Invariants: written by plumbing alone, so no configuration of notes has a say; other notes and whatever else the ref
holds stay as they are; objects first, then one compare-and-swap.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from skills_repo import locks, objects
from skills_repo.git import Git, GitFailedError
from skills_repo.history import Author, RepositoryError
from skills_repo.refs import Refs

REF = "refs/notes/honed"
_TRIES = 5
"""Others may write notes at the same time."""
_FOLDER = re.compile(r"[0-9a-f]{2}/")


@dataclass(frozen=True)
class _Note:
    """Where a commit's note stands, and what it says by now."""

    path: str
    text: str


class ReportNotes:
    """Notes on commits of one repository."""

    def __init__(self, root: Path, *, author: Author) -> None:
        """`root` is the repository's top folder; `author` is whose name the notes carry."""
        self._git = Git(root.absolute())
        self._refs = Refs(self._git, REF)
        self._author = author

    async def append(self, commit: str, text: str, *, when: float) -> None:
        """Add a paragraph to a commit's note (full id), unless a paragraph there begins with the same line.

        Raises `RepositoryError`.
        """
        try:
            await asyncio.to_thread(self._append, commit, text.strip("\n"), when)
        except GitFailedError as error:
            raise RepositoryError(f"{self._git.folder}: {error} (run `git fsck` there if this persists)") from error

    def _append(self, commit: str, text: str, when: float) -> None:
        oid = self._refs.resolve(commit)
        for last in [False] * (_TRIES - 1) + [True]:
            old = self._refs.head()
            note = self._find(old, oid)
            if text.split("\n", 1)[0] in (said.split("\n", 1)[0] for said in note.text.split("\n\n")):
                return
            whole = f"{note.text}\n\n{text}\n" if note.text else f"{text}\n"
            tree = self._tree(old, note.path, whole)
            env = objects.identity(self._author, when)
            parent = ("-p", old) if old else ()
            new = self._git.line("commit-tree", tree, *parent, "-F", "-", stdin=b"Note a run's report\n", env=env)
            try:
                self._git.run("update-ref", "-m", "honed: a run's report", REF, new, old or "0" * len(oid), env=env)
            except GitFailedError as error:
                if self._refs.head() == old and locks.exists(self._refs):
                    if last or not locks.clear(self._refs):
                        raise locks.locked(self._refs) from error
                elif last or self._refs.head() == old:
                    raise
            else:
                return

    def _find(self, head: str | None, oid: str) -> _Note:
        """The commit's note; git spreads many notes over folders named by the first digits."""
        paths = self._git.fields(["ls-tree", "-r", "-z", "--name-only", head]) if head else []
        found = next((path for path in paths if path.replace("/", "") == oid), "")
        if found:
            text = self._git.run("cat-file", "blob", f"{head}:{found}").decode("utf-8", "surrogateescape")
            return _Note(found, text.strip("\n"))
        spread = any(_FOLDER.match(path) for path in paths)
        return _Note(f"{oid[:2]}/{oid[2:]}" if spread else oid, "")

    def _tree(self, head: str | None, path: str, text: str) -> str:
        """The tree of the notes with one written, by way of an index of our own."""
        data = text.encode("utf-8", "surrogateescape")
        blob = self._git.line("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin", stdin=data)
        with tempfile.TemporaryDirectory(prefix="honed-index-") as folder:
            env = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            if head:
                self._git.run("read-tree", head, env=env)
            row = f"100644 {blob}\t{path}\0".encode()
            self._git.run("update-index", "-z", "--index-info", stdin=row, env=env)
            return self._git.line("write-tree", env=env)
