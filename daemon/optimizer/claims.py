"""Which places of a skill an edit claims, so that merging keeps no two that claim the same one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from skills_repo.anchors import Ground, Place
from skills_repo.edits import REFERENCE_OPS, Edit, Op
from skills_repo.references import mentions_path
from skills_repo.skill import SKILL_FILE, Skill, text_of

_WHOLE = Place(0, sys.maxsize)


@dataclass(frozen=True)
class Claim:
    """A stretch of one file."""

    file: str
    place: Place
    inserts: bool
    """Nothing of it is changed: text comes in below it."""


def clash(these: Sequence[Claim], those: Sequence[Claim]) -> bool:
    """Two claims are for the same text, and not both for what comes below it."""
    return any(
        one.file == other.file
        and not (one.inserts and other.inserts)
        and one.place.start < other.place.end
        and other.place.start < one.place.end
        for one in these
        for other in those
    )


class Grounds:
    """The texts of one skill. Raises `SkillError` if SKILL.md has no frontmatter."""

    def __init__(self, skill: Skill) -> None:
        self._skill = skill
        self._grounds: dict[str, Ground | None] = {SKILL_FILE: Ground(skill.text)}

    def claims(self, edit: Edit) -> tuple[Claim, ...]:
        """What the edit claims; nothing where it has no certain place, or goes to a file's end."""
        if edit.op not in REFERENCE_OPS:
            return self._anchored(edit, edit.file)
        whole = Claim(edit.file, _WHOLE, inserts=False)
        if edit.target.strip() or edit.op is Op.CREATE:
            return (whole, *self._anchored(edit, SKILL_FILE))
        ground = self._ground(SKILL_FILE)
        lines = ground.lines(lambda line: mentions_path(line, edit.file)) if ground else ()
        return (whole, *(Claim(SKILL_FILE, place, inserts=False) for place in lines))

    def _anchored(self, edit: Edit, file: str) -> tuple[Claim, ...]:
        ground = self._ground(file)
        if ground is None or edit.op is Op.APPEND or not edit.target.strip():
            return ()
        place = ground.locate(edit.target)
        inserts = edit.op in (Op.INSERT_AFTER, Op.CREATE)
        return (Claim(file, place, inserts),) if isinstance(place, Place) else ()

    def _ground(self, file: str) -> Ground | None:
        if file not in self._grounds:
            text = text_of(self._skill.files.get(file, b"\0"))
            self._grounds[file] = None if text is None else Ground(text, whole=True)
        return self._grounds[file]
