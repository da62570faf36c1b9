"""References: Markdown files below `references/` that SKILL.md sends an agent to.

The link rule, both ways: an agent opens a reference only if SKILL.md names its path, so no edit may leave a reference
without a link that had one (or is new), nor a link to a reference that is not there. What people left so is theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from skills_repo import frontmatter
from skills_repo.skill import SKILL_FILE, Skill, SkillError

FOLDER = "references"
MAX_NAME = 64
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*\.md")
_READ_BY_CLIS = frozenset({"skill", "agents", "claude", "gemini"})
_OF_WINDOWS = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_MENTION = re.compile(r"(?:(?<![\w/.-])(?:\./)?|(?<=[}>])/)(references/[\w-]+(?:[./][\w-]+)*)")


def is_reference(path: str) -> bool:
    """The path is one that the link rule speaks of."""
    return path.startswith(f"{FOLDER}/") and path.endswith(".md")


def wrong_name(path: str, taken: Iterable[str]) -> str:
    """Why a new reference may not have this path; empty if it may. `taken` are the paths that are there already."""
    folder, _, name = path.partition("/")
    if folder != FOLDER or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        return f"a new file is `{FOLDER}/<name>.md`: lowercase letters, digits, single hyphens, at most {MAX_NAME}"
    stem = name.removesuffix(".md")
    if stem in _READ_BY_CLIS | _OF_WINDOWS:
        return f"{name} is a name with a meaning of its own for agents or file systems"
    if any(other.lower() == FOLDER or other.lower().startswith(f"{path}/") for other in taken):
        return "a file and a folder would have the same name"
    if any(other.split("/")[0] != FOLDER and other.lower().split("/")[0] == FOLDER for other in taken):
        return f"there is a folder that is named {FOLDER} but for its letter case"
    return ""


def mentions(text: str) -> frozenset[str]:
    """The reference paths that a text names, in a Markdown link or plainly."""
    return frozenset(path for path in _MENTION.findall(text) if is_reference(path))


def mentions_path(line: str, path: str) -> bool:
    """One line names this reference."""
    return path in mentions(line)


def unlinked(skill: Skill) -> frozenset[str]:
    """References that SKILL.md does not name; raises `SkillError` where it has no frontmatter."""
    named = mentions(frontmatter.split(skill.text).body)
    return frozenset(path for path in skill.files if is_reference(path)) - named


def dead(skill: Skill) -> frozenset[tuple[str, str]]:
    """(file, path) wherever SKILL.md or a reference names a reference that is not there."""
    texts = {SKILL_FILE: frontmatter.split(skill.text).body}
    texts |= {path: data.decode("utf-8", "replace") for path, data in skill.files.items() if is_reference(path)}
    return frozenset((file, path) for file, text in texts.items() for path in mentions(text) - skill.files.keys())


def broken_rule(before: Skill, after: Skill) -> tuple[str, str] | None:
    """What a change does against the link rule: `not_linked` or `dead_link`, and what in words; None for nothing."""
    try:
        lost, gone = unlinked(after) - unlinked(before), dead(after) - dead(before)
    except SkillError:  # SKILL.md is not valid: that is said elsewhere
        return None
    if lost:
        return "not_linked", f"SKILL.md would not name {', '.join(sorted(lost))}"
    if gone:
        return "dead_link", "; ".join(f"{file} would name {path}, which is not there" for file, path in sorted(gone))
    return None
