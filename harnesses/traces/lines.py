"""Bytes to lines to JSON objects, in bounded memory, whatever the bytes are.

A line beyond the cap is cut, and then no longer JSON: it is counted by the parsers, and the next line is read as usual.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

LINE_BYTES = 8 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024


class LineSplitter:
    """Chunks in, lines (without their end) out; holds at most `cap` bytes of an unfinished line."""

    def __init__(self, cap: int = LINE_BYTES) -> None:
        self._cap = cap
        self._held = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(chunk[start:end])
            yield self._take()
            start = end + 1
        self._hold(chunk[start:])

    def finish(self) -> Iterator[bytes]:
        """What is left when the stream ends without a newline."""
        if self._held:
            yield self._take()

    def _hold(self, part: bytes) -> None:
        self._held += part[: max(0, self._cap - len(self._held))]

    def _take(self) -> bytes:
        line = bytes(self._held)
        self._held.clear()
        return line


def split_lines(chunks: Iterable[bytes], *, cap: int = LINE_BYTES) -> Iterator[bytes]:
    """All lines of a stream of chunks."""
    splitter = LineSplitter(cap)
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.finish()


def read_lines(path: Path, *, cap: int = LINE_BYTES) -> Iterator[bytes]:
    """The lines of a file, read as a stream."""
    with path.open("rb") as file:
        yield from split_lines(iter(lambda: file.read(_CHUNK_BYTES), b""), cap=cap)


def parse_object(line: bytes) -> dict[str, Any] | None:
    """A line as a JSON object; None if it is anything else (garbage, another type, nested too deeply)."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
