"""Which files of a skill edits may touch: glob patterns over relative POSIX paths.

`*` and `?` stay within one folder, `**` stands for any number of folders. SKILL.md may always be edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from skills_repo.skill import SKILL_FILE

DEFAULT = (SKILL_FILE,)
MAX_PATTERN = 200


def is_editable(path: str, patterns: Sequence[str]) -> bool:
    """One of the patterns matches the whole path."""
    return path == SKILL_FILE or any(_matches(tuple(path.split("/")), tuple(p.split("/"))) for p in patterns)


def wrong_pattern(pattern: str) -> str:
    """Why a pattern cannot be used; empty if it can."""
    parts = pattern.split("/")
    if not pattern or len(pattern) > MAX_PATTERN or "\\" in pattern or any(part in ("", ".", "..") for part in parts):
        return 'must be relative paths or globs inside the skill\'s folder, such as "references/*.md"'
    return ""


@lru_cache(maxsize=4096)
def _matches(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return _matches(path, pattern[1:]) or (bool(path) and _matches(path[1:], pattern))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _matches(path[1:], pattern[1:])
