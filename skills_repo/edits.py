"""Bounded edits of SKILL.md, enforced in code: unique anchors, budget, frozen frontmatter, guarded region, size.

`apply` is pure. A model can ask for anything; what is not allowed is skipped with a status, never applied in part.
"""

from __future__ import annotations

from collections.abc import Sequence

from skills_repo import guarded, rewriting
from skills_repo.anchors import Ground, Miss, Place
from skills_repo.content import check_content, check_form
from skills_repo.edit import (
    MAX_EDITS,
    PATCH_OPS,
    Applied,
    AppliedEdit,
    ApplyReport,
    Edit,
    EditLimits,
    EditStatus,
    Op,
    RefusedError,
)
from skills_repo.nearest import nearest
from skills_repo.skill import Skill, SkillError
from skills_repo.validate import validate

__all__ = [
    "MAX_EDITS",
    "PATCH_OPS",
    "Applied",
    "AppliedEdit",
    "ApplyReport",
    "Edit",
    "EditLimits",
    "EditStatus",
    "Op",
    "apply",
]


def apply(skill: Skill, edits: Sequence[Edit], limits: EditLimits) -> Applied:
    """Apply edits in order, each to what the one before left. Never raises, whatever a model put into the edits.

    `append` goes to the end of the file, or before the guarded region if nothing but blank lines follows it.
    `insert_after` goes below the line that holds the anchor's end. `replace` and `delete` are exact. Anchors match with
    CRLF read as LF; new text takes the file's line ends, and every byte outside the edit stays. `rewrite` puts a new
    body in place and `slow_update` a new guarded region, where the limits allow them.
    """
    rows: list[AppliedEdit] = []
    stages: list[Skill] = []
    for edit in edits:
        try:
            if len(stages) >= limits.most:
                raise RefusedError(EditStatus.OVER_BUDGET, f"the budget is {limits.most}")
            stages.append(_apply_one(skill, stages[-1] if stages else skill, edit, limits))
            rows.append(AppliedEdit(edit, EditStatus.APPLIED))
        except RefusedError as refused:
            rows.append(AppliedEdit(edit, refused.status, refused.detail))
    return Applied(stages[-1] if stages else skill, ApplyReport(tuple(rows)), tuple(stages))


def _apply_one(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill with one edit applied, or `RefusedError`. `base` is what the first edit met."""
    check_form(edit, limits)
    check_content(edit, limits)
    try:
        before = skill.text
        ground = Ground(before)
    except (SkillError, UnicodeDecodeError, KeyError) as error:
        raise RefusedError(EditStatus.INVALID_RESULT, f"the skill itself is not valid: {error}") from error
    after = _edited(ground, edit)
    if after == before:
        raise RefusedError(EditStatus.NO_CHANGE)
    if len(after) > limits.max_skill_chars and len(after) >= len(before):
        detail = f"SKILL.md would have {len(after)} of {limits.max_skill_chars} characters"
        raise RefusedError(EditStatus.TOO_LARGE, detail)
    candidate = skill.with_text(after)
    _check_result(candidate, ground, edit.op)
    if edit.op != Op.SLOW_UPDATE:
        rewriting.check_something_left(base.text, before, after, rewrite=edit.op == Op.REWRITE)
    return candidate


def _edited(ground: Ground, edit: Edit) -> str:
    """The whole text with the edit made."""
    original = ground.view.original
    if edit.op == Op.REWRITE:
        return rewriting.with_body(original, edit.content)
    if edit.op == Op.SLOW_UPDATE:
        return rewriting.with_guidance(original, edit.content)
    place, new = _splice(ground, edit)
    return ground.view.spliced(place.start, place.end, new)


def _splice(ground: Ground, edit: Edit) -> tuple[Place, str]:
    """The place to replace, and by what (LF line ends)."""
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


def _check_result(candidate: Skill, ground: Ground, op: Op) -> None:
    """The whole file once more: valid, and what is protected still the same bytes."""
    try:
        validate(candidate)
        head, region = Ground(candidate.text).protected
    except SkillError as error:
        raise RefusedError(EditStatus.INVALID_RESULT, str(error)) from error
    known_head, known_region = ground.protected
    if head != known_head or (op != Op.SLOW_UPDATE and region != known_region):
        raise RefusedError(EditStatus.INVALID_RESULT, "the frontmatter or the guarded region would change")
    if op == Op.SLOW_UPDATE and guarded.without(candidate.text) != guarded.without(ground.view.original):
        raise RefusedError(EditStatus.INVALID_RESULT, "the slow update would change text outside its region")
