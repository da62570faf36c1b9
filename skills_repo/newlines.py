"""CRLF text seen with LF line ends, and the way back to the original offsets.

Invariant: `text` is never rewritten; only what is new takes the file's own line end.
"""

from __future__ import annotations

from bisect import bisect_left


class LineView:
    """A text with LF line ends, and where each position is in the original."""

    def __init__(self, text: str) -> None:
        self.original = text
        self.text = text.replace("\r\n", "\n")
        self._crlf: list[int] = []  # positions in the view of line ends that are CRLF in the original
        if len(self.text) != len(text):
            position = -1
            while (position := text.find("\r\n", position + 1)) >= 0:
                self._crlf.append(position - len(self._crlf))

    @property
    def newline(self) -> str:
        """The line end that most lines have."""
        return "\r\n" if 2 * len(self._crlf) > self.text.count("\n") else "\n"

    def at(self, position: int) -> int:
        """The original offset of a position in the view."""
        return position + bisect_left(self._crlf, position)

    def spliced(self, start: int, end: int, new: str) -> str:
        """The original with view positions `start` to `end` replaced by `new` (LF in, the file's line end out)."""
        if self.newline != "\n":
            new = new.replace("\n", self.newline)
        return self.original[: self.at(start)] + new + self.original[self.at(end) :]
