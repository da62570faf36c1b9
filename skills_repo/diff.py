"""What differs between two versions of a skill's folder: text by lines, everything else by its size.

Pure, and bounded: a file that is too large to compare line by line is told by its size.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skills_repo.history import FileAt

MAX_BYTES = 400_000
MAX_LINES = 8_000
"""Of one file that is compared line by line."""
_LINK, _SUBMODULE = "120000", "160000"
NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True)
class FileDiff:
    """One file that is not the same in both."""

    path: str
    change: Literal["added", "deleted", "changed"]
    kind: Literal["text", "binary", "large", "link", "submodule"]
    old_mode: str
    """Empty for an added file."""
    new_mode: str
    """Empty for a deleted one."""
    old_size: int
    """Bytes."""
    new_size: int
    lines: tuple[str, ...] = ()
    """For text and links: hunks of a unified diff (`@@ …`, then lines that begin with a blank, `-` or `+`)."""

    @property
    def added(self) -> int:
        """Lines that are new."""
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        """Lines that are gone."""
        return sum(line.startswith("-") for line in self.lines)


def diff(before: Sequence[FileAt], after: Sequence[FileAt], *, context: int = 3) -> tuple[FileDiff, ...]:
    """Every file that differs in bytes or mode, ordered by path. A renamed file is a deleted and an added one."""
    old, new = {file.path: file for file in before}, {file.path: file for file in after}
    paths = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    return tuple(_compare(path, old.get(path), new.get(path), context) for path in paths)


def _compare(path: str, old: FileAt | None, new: FileAt | None, context: int) -> FileDiff:
    files = [file for file in (old, new) if file is not None]
    kind = _kind(files)
    was, now = (old.data if old else b""), (new.data if new else b"")
    lines = tuple(_hunks(_lines(was), _lines(now), context)) if kind in ("text", "link") else ()
    return FileDiff(
        path=path,
        change="added" if old is None else "deleted" if new is None else "changed",
        kind=kind,
        old_mode=old.mode if old else "",
        new_mode=new.mode if new else "",
        old_size=len(was),
        new_size=len(now),
        lines=lines,
    )


def _kind(files: Sequence[FileAt]) -> Literal["text", "binary", "large", "link", "submodule"]:
    if any(file.mode == _SUBMODULE for file in files):
        return "submodule"
    if not all(_is_text(file.data) for file in files):
        return "binary"
    if any(len(file.data) > MAX_BYTES or file.data.count(b"\n") > MAX_LINES for file in files):
        return "large"
    return "link" if any(file.mode == _LINK for file in files) else "text"


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _lines(data: bytes) -> list[str]:
    """Lines with their LF; the last may have none."""
    parts = data.decode("utf-8").split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _hunks(old: list[str], new: list[str], context: int) -> Iterator[str]:
    rows = list(difflib.unified_diff(old, new, n=context))[2:]
    for row in rows:
        yield row.removesuffix("\n")
        if not row.endswith("\n"):
            yield NO_NEWLINE
