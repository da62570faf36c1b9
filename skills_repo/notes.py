"""Reports of runs as git notes (`refs/notes/honed`): `git notes --ref=honed show` reads them.

Invariants: written by plumbing alone, so no configuration of notes has a say; other notes and whatever else the ref
holds stay as they are; objects first, then one compare-and-swap.
"""

from __future__ import annotations

import asyncio
import re
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
        """The tree of the notes with one written; made of objects alone, a folder of it where notes are spread."""
        data = text.encode("utf-8", "surrogateescape")
        blob = self._git.line("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin", stdin=data)
        entry = b"100644 blob " + blob.encode()
        folders = path.split("/")[:-1]
        trees = [head, *(f"{head}:{'/'.join(folders[: depth + 1])}" for depth in range(len(folders)))]
        for name, tree in zip(reversed(path.split("/")), reversed(trees), strict=True):
            entry = b"040000 tree " + self._with_entry(tree if head else None, name, entry).encode()
        return entry.rpartition(b" ")[2].decode()

    def _with_entry(self, tree: str | None, name: str, entry: bytes) -> str:
        """The tree (None, or one that is not there: an empty one) with one entry put in."""
        found = self._resolved(tree) if tree is not None else None
        rows = self._git.run("ls-tree", "-z", found).split(b"\0")[:-1] if found else []
        kept = [row for row in rows if row.split(b"\t", 1)[1] != name.encode()]
        text = b"".join(row + b"\0" for row in [*kept, entry + b"\t" + name.encode()])
        return self._git.line("mktree", "-z", "--missing", stdin=text)

    def _resolved(self, name: str) -> str | None:
        """The id behind `commit` or `commit:folder`; None where there is no such folder yet."""
        try:
            return self._git.line("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        except GitFailedError:
            return None
