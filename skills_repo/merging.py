"""Three versions of a folder into one: what `theirs` changed since `base`, made on `ours`.

Text is merged by `git merge-file`. Where that sees a conflict, each change is looked for by its own text: if the lines
that it replaces stand exactly once in `ours`, it is made there. (Two rules one below the other conflict for git; taking
one of them out is plain all the same.) Pure apart from a temporary folder.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skills_repo.git import Git, GitFailedError

MAX_BYTES = 400_000
"""Of a text whose changes are looked for one by one."""


@dataclass(frozen=True)
class Merged:
    """What came of it."""

    files: Mapping[str, bytes]
    """Ordered by path; `ours` where there is a conflict."""
    conflicts: tuple[str, ...]
    """Paths where the change does not fit any more."""


def merge(base: Mapping[str, bytes], ours: Mapping[str, bytes], theirs: Mapping[str, bytes]) -> Merged:
    """Merge file by file; a file may be new, gone or changed on either side."""
    files: dict[str, bytes] = {}
    conflicts: list[str] = []
    for path in sorted(base.keys() | ours.keys() | theirs.keys()):
        was, mine, wanted = base.get(path), ours.get(path), theirs.get(path)
        if wanted not in (was, mine) and mine != was:
            merged = None if was is None or mine is None or wanted is None else _merge_text(was, mine, wanted)
            if merged is None:
                conflicts.append(path)
                merged = mine
            mine = merged
        elif wanted != was:
            mine = wanted
        if mine is not None:
            files[path] = mine
    return Merged(files, tuple(conflicts))


def _merge_text(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """The merged text; None for a conflict."""
    if any(b"\0" in data for data in (base, ours, theirs)):
        return None
    with tempfile.TemporaryDirectory(prefix="honed-merge-") as folder:
        for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
            Path(folder, name).write_bytes(data)
        try:
            return Git(Path(folder)).run("merge-file", "-p", "--quiet", "ours", "base", "theirs")
        except GitFailedError as error:
            if not 0 < error.code < 128:  # the number of conflicts, at most 127
                raise
    if max(len(base), len(ours), len(theirs)) > MAX_BYTES:
        return None
    return _by_own_text(base.split(b"\n"), ours.split(b"\n"), theirs.split(b"\n"))


def _by_own_text(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> bytes | None:
    """Each change made where the lines that it replaces stand, if that is one place."""
    places: list[tuple[int, int, list[bytes]]] = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, base, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        before = 1 if start == end and start > 0 else 0  # nothing is replaced: its neighbours say where
        after = 1 if start == end and end < len(base) else 0
        at = _only_place(ours, base[start - before : end + after])
        if at is None:
            return None
        places.append((at + before, at + before + end - start, theirs[first:last]))
    result = list(ours)
    bound = len(ours)
    for start, end, lines in sorted(places, key=lambda place: place[:2], reverse=True):
        if end > bound:
            return None  # two changes would meet
        result[start:end] = lines
        bound = start
    return b"\n".join(result)


def _only_place(lines: list[bytes], block: list[bytes]) -> int | None:
    """Where the block stands, if it stands once and says anything."""
    if not any(line.strip() for line in block):
        return None
    found = [at for at in range(len(lines) - len(block) + 1) if lines[at : at + len(block)] == block]
    return found[0] if len(found) == 1 else None
