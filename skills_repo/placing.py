"""Where a patch edit goes in one text, and what stands there then; SKILL.md and other files alike."""

from __future__ import annotations

from skills_repo import rewriting
from skills_repo.anchors import Ground, Miss, Place
from skills_repo.edit import Edit, EditStatus, Op, RefusedError
from skills_repo.nearest import nearest


def placed(ground: Ground, edit: Edit) -> tuple[Place, str]:
    """The place to replace, and by what (LF line ends); raises `RefusedError` for a target without one place."""
    content = edit.content.replace("\r\n", "\n")
    if edit.op == Op.APPEND:
        return ground.at_end(rewriting.trimmed(content))
    place = ground.locate(edit.target)
    if isinstance(place, Miss):
        raise RefusedError(EditStatus(place.value), _where(place, ground, edit.target))
    if edit.op == Op.INSERT_AFTER:
        return ground.below(place, content)
    return place, content


def _where(miss: Miss, ground: Ground, target: str) -> str:
    """What helps to mend a target."""
    if miss is Miss.MISSING:
        return nearest(ground.view.text, target)
    return ground.occurrences(target) if miss is Miss.AMBIGUOUS else ""
