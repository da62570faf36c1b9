"""What edits may touch besides SKILL.md, as the optimizer is shown it: texts by path, and what else is in the folder.

Where the configuration opens SKILL.md alone there is no `SkillFiles` at all, and no prompt has a word about files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from harnesses.traces.tokens import tokens
from skills_repo.edits import Edit, EditLimits
from skills_repo.skill import SKILL_FILE, Skill, text_of

FILES_TOKENS = 12_000
"""Of all files that one prompt shows, by estimate. What does not fit is named with its size alone."""
MOST_NAMED = 100


@dataclass(frozen=True)
class ShownFile:
    """A file with its whole text."""

    path: str
    text: str


@dataclass(frozen=True)
class SkillFiles:
    """The skill's folder beside SKILL.md; everything ordered by path."""

    shown: tuple[ShownFile, ...]
    """Editable ones."""
    named: tuple[dict[str, Any], ...]
    """All others: path and size, and why an editable one is not shown."""
    left_out: int
    """Files that are not even named."""
    references: bool
    """References may be created and removed."""

    @classmethod
    def of(cls, skill: Skill, limits: EditLimits) -> Self | None:
        """What prompts show; None where edits are for SKILL.md alone."""
        if not limits.references and all(pattern == SKILL_FILE for pattern in limits.editable):
            return None
        shown: list[ShownFile] = []
        named: list[dict[str, Any]] = []
        left = FILES_TOKENS
        for path, data in sorted(skill.files.items()):
            if path == SKILL_FILE:
                continue
            text = text_of(data) if limits.allows(path) and path not in skill.links else None
            cost = 0 if text is None else tokens(text)
            if text is not None and cost <= left:
                left -= cost
                shown.append(ShownFile(path, text.removeprefix("\ufeff")))
            else:
                row: dict[str, Any] = {"file": path, "bytes": len(data)}
                named.append(row if text is None else {**row, "editable": "append only: too long to be shown"})
        return cls(tuple(shown), tuple(named[:MOST_NAMED]), max(0, len(named) - MOST_NAMED), limits.references)


def told(edit: Edit) -> dict[str, str]:
    """What an edit's row has beside op, target and content: nothing for SKILL.md's own."""
    rows = {"file": edit.file if edit.file != SKILL_FILE else "", "link": edit.link}
    return {name: value for name, value in rows.items() if value}
