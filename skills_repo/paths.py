"""File names inside a skill: which ones git, agents' CLIs and other people's machines would mishandle.

Skills travel: a name that is fine here may name a device on Windows, fall together with another on macOS, or be taken
by git for its own. Pure; every function says what is wrong in words.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable

from skills_repo.hidden import find_hidden

MAX_NAME = 255
MAX_PATH = 1_000
"""Bytes of UTF-8, of one name and of a path inside the skill."""
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
"""What Windows opens as a device, whatever its extension."""


def wrong_path(path: str) -> str:
    """Why a skill may not have a file of this path (relative, POSIX); empty if it may."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if size > MAX_PATH:
        return f"its path has {size} bytes, at most {MAX_PATH} are handled everywhere"
    if "\\" in path:
        return "its name has a backslash, which Windows takes for a folder"
    if "\n" in path or "\t" in path:  # `find_hidden` lets them pass, for text
        return "its name has a line end or a tab"
    if (hidden := find_hidden(path)) is not None:
        return f"its name has a character that nobody sees ({hidden[1]})"
    return next((wrong for part in path.split("/") if (wrong := _wrong_name(part))), "")


def _wrong_name(name: str) -> str:
    if name in ("", ".", ".."):
        return "is not a plain path inside the folder"
    if len(name.encode()) > MAX_NAME:
        return f"its name has {len(name.encode())} bytes, file systems take at most {MAX_NAME}"
    bare = name.lower().split(":")[0].rstrip(" .")
    if bare in (".git", "git~1"):
        return f"git keeps the name {name} for itself"
    if name[-1] in " .":
        return "its name ends with a dot or a blank, which Windows drops"
    if name.lower().split(".")[0].rstrip() in DEVICES:
        return f"{name} is a device on Windows"
    return ""


def collision(paths: Iterable[str]) -> tuple[str, str, str] | None:
    """Two paths that are one on other machines, and why; None if there are none."""
    seen: dict[str, tuple[str, bool]] = {}
    for path in sorted(paths):
        for place in (path, *_folders(path)):
            is_file = place == path
            other, was_file = seen.setdefault(_folded(place), (place, is_file))
            if other != place and (is_file or was_file):
                composed = unicodedata.normalize("NFC", other) == unicodedata.normalize("NFC", place)
                return place, other, "in how its letters are composed" if composed else "in letter case"
    return None


def _folders(path: str) -> list[str]:
    found = []
    while (path := posixpath.dirname(path)) and path.strip("/"):  # the folder of `/` is `/`, for ever
        found.append(path)
    return found


def _folded(path: str) -> str:
    """What a file system that ignores case and composition compares."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).lower())


def inner_skill(path: str, paths: Iterable[str], skill_file: str = "SKILL.md") -> str:
    """The folder inside the skill that is a skill of its own and holds this path; empty if there is none.

    `paths` are all files of the outer skill. Of skills within each other the outermost is named.
    """
    inner = {posixpath.dirname(other) for other in paths if posixpath.basename(other) == skill_file} - {""}
    return next((folder for folder in reversed(_folders(path)) if folder in inner), "")
