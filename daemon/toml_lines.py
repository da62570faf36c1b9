"""In which line of a TOML text a key stands, for error messages: tomllib keeps no positions.

A light scan, enough for files that people write: tables, arrays of tables, dotted and quoted keys, multi-line strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PART = r"""(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=(.*)")
_FENCES = ('"""', "'''")


def find_line(text: str, path: Sequence[str | int]) -> int | None:
    """The line, from 1, of the key at `path`, else of the nearest table or key above it; None if there is none."""
    wanted = tuple(part for part in path if isinstance(part, str))
    best: tuple[int, int] | None = None
    for line, found in _keys(text):
        depth = len(found)
        if depth and found == wanted[:depth] and (best is None or depth > best[0]):
            best = (depth, line)
    return None if best is None else best[1]


def _keys(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    table: tuple[str, ...] = ()
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if fence:
            fence = "" if fence in line else fence
            continue
        header = _HEADER.match(line)
        if header:
            table = _split(header.group(1))
            yield number, table
            continue
        key = _KEY.match(line)
        if key:
            yield number, table + _split(key.group(1))
            fence = next((mark for mark in _FENCES if key.group(2).count(mark) == 1), "")


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))
