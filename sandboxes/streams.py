"""stdout and stderr of a command on the host: files with a cap, out of the command's reach."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO


class CappedFile:
    """A file that keeps the first `cap` bytes and drops the rest."""

    def __init__(self, path: Path, cap: int) -> None:
        self.path = path
        self.cut = False
        self._left = cap
        self._file: BinaryIO = path.open("wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Keep what still fits."""
        if len(data) > self._left:
            self.cut = True
            data = data[: self._left]
        self._left -= len(data)
        while data:
            data = data[self._file.write(data) or 0 :]

    def close(self) -> None:
        """Safe to call twice."""
        self._file.close()


class Streams:
    """Both files of one run: `run-N.stdout` and `run-N.stderr` in the attempt's folder."""

    def __init__(self, folder: Path, run: int, cap: int) -> None:
        self.stdout = CappedFile(folder / f"run-{run}.stdout", cap)
        self.stderr = CappedFile(folder / f"run-{run}.stderr", cap)

    def close(self) -> None:
        """Safe to call twice."""
        self.stdout.close()
        self.stderr.close()
