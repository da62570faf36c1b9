"""Read the files of tasks for the firewall: text and workbooks, bounded, never executed.

A file that is neither, or cannot be read, has nothing to compare: it is no error here, for the loader has read every
file before. What lies beyond the bounds is not guarded; `Material.left_out` counts it.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILE_BYTES = 64 * 1024
"""Of one file; of a workbook, unpacked and for each of its parts."""
TASK_BYTES = 128 * 1024
"""Of one task."""
SET_BYTES = 8 * 1024 * 1024
"""Of a whole set, in equal shares; a task's share is never under `LEAST_BYTES`."""
LEAST_BYTES = 4 * 1024
_PARTS = re.compile(r"xl/(?:sharedStrings|worksheets/sheet\d+)\.xml")
_TEXT = re.compile(r"<t(?:\s[^>]*)?>([^<]*)</t>")
_NUMBER = re.compile(r"<c(?![^>]*\bt=\"(?:s|str|b|e|inlineStr|d)\")[^>]*>(?:<f[^<]*(?:</f>|(?<=/)>))?<v>([^<]*)</v>")


@dataclass
class Material:
    """A bounded reader; the same host file is read once."""

    share: int = TASK_BYTES
    """Bytes of each task."""
    left_out: int = 0
    """Files that were not read to their end, or not at all."""
    _read: dict[Path, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def for_tasks(cls, with_files: int) -> Material:
        """A reader for a set in which so many tasks have files."""
        return cls(share=max(LEAST_BYTES, min(TASK_BYTES, SET_BYTES // max(1, with_files))))

    def texts(self, files: Mapping[str, Path]) -> dict[str, tuple[str, ...]]:
        """Path to its texts: one of a text file, each cell of a workbook; a file of another kind has none."""
        found: dict[str, tuple[str, ...]] = {}
        left = self.share
        for path, source in sorted(files.items()):
            if left <= 0:
                self.left_out += 1
                continue
            texts = self._of(source, min(left, FILE_BYTES))
            left -= sum(map(len, texts))
            found[path] = texts
        return found

    def _of(self, source: Path, limit: int) -> tuple[str, ...]:
        if source not in self._read:
            self._read[source] = self._from_disk(source, limit)
        return self._read[source]

    def _from_disk(self, source: Path, limit: int) -> tuple[str, ...]:
        try:
            with source.open("rb") as stream:
                data = stream.read(limit + 1)
                if data[:4] == b"PK\x03\x04":
                    return self._cells(data + stream.read(FILE_BYTES * 4), limit)
        except OSError:
            self.left_out += 1
            return ()
        self.left_out += len(data) > limit
        if b"\x00" in data:
            return ()
        return (data[:limit].decode("utf-8", "replace"),)

    def _cells(self, data: bytes, limit: int) -> tuple[str, ...]:
        """What a workbook's cells hold, without repetition: texts and stored numbers, formulas not."""
        cells: dict[str, None] = {}
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                for name in sorted(filter(_PARTS.fullmatch, package.namelist()))[:8]:
                    with package.open(name) as part:
                        raw = part.read(limit + 1)
                    self.left_out += len(raw) > limit
                    xml = raw[:limit].decode("utf-8", "replace")
                    cells |= dict.fromkeys(html.unescape(text) for text in _TEXT.findall(xml))
                    cells |= dict.fromkeys(_NUMBER.findall(xml))
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, RuntimeError):
            self.left_out += 1  # no workbook, larger than what is read, or damaged
        return tuple(cells)
