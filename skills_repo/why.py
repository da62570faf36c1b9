"""Which lines of a text are meant: a line's number, or a piece of its text, whatever the blanks and the case."""

from __future__ import annotations

from skills_repo.history import RepositoryError

MOST = 20
"""Places that one piece of text may stand at."""


def find_lines(text: str, wanted: str, *, file: str) -> tuple[int, ...]:
    """Numbers of the lines, from 1, ordered; raises `RepositoryError` where there is none or where there are too many.

    A piece of text may go over several lines: then all of them are meant.
    """
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    if wanted.strip().isdecimal():
        number = int(wanted)
        if not 1 <= number <= count:
            msg = f"{file} has lines 1 to {count}, not {number} (give a line's number, or a piece of its text)"
            raise RepositoryError(msg)
        return (number,)
    found = _places(lines, " ".join(wanted.lower().split()))
    shown = " ".join(wanted.split())[:60]
    if not found:
        raise RepositoryError(f"{file} has no line with {shown!r} (give a line's number, or another piece of its text)")
    if len(found) > MOST:
        raise RepositoryError(f"{shown!r} stands in {len(found)} lines of {file}: give more of it")
    return tuple(sorted(found))


def _places(lines: list[str], wanted: str) -> set[int]:
    words = [(number, word) for number, line in enumerate(lines, start=1) for word in line.lower().split()]
    joined = " ".join(word for _, word in words)
    line_at = [number for number, word in words for _ in range(len(word) + 1)]
    found: set[int] = set()
    position = joined.find(wanted) if wanted else -1
    while position >= 0:
        found.update(line_at[position : position + len(wanted)])
        position = joined.find(wanted, position + 1)
    return found
