"""A skill as data: its folder's files, and SKILL.md's parts.

Invariants: bytes are never changed by reading and writing back; the digest depends on nothing but paths and bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

SKILL_FILE = "SKILL.md"


class SkillError(Exception):
    """A skill cannot be read or is not valid. `str()` is one line: file, line where known, what and the remedy."""


@dataclass(frozen=True)
class Skill:
    """A whole skill folder. Compare by `digest`."""

    name: str
    """The folder's name, equal to the frontmatter's `name`."""
    files: Mapping[str, bytes]
    """Relative POSIX path to bytes, ordered by path; `SKILL.md` among them."""

    @property
    def text(self) -> str:
        """SKILL.md, whole."""
        return self.files[SKILL_FILE].decode("utf-8")

    @property
    def digest(self) -> str:
        """`sha256:` over sorted (path length, path, size, bytes)."""
        h = hashlib.sha256()
        for path in sorted(self.files):
            raw = path.encode()
            h.update(b"%d:%s%d:" % (len(raw), raw, len(self.files[path])))
            h.update(self.files[path])
        return "sha256:" + h.hexdigest()

    def with_text(self, text: str) -> Skill:
        """The same folder with another SKILL.md."""
        return Skill(self.name, {**self.files, SKILL_FILE: text.encode("utf-8")})
