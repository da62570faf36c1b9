"""One edit of SKILL.md: made, and checked as a whole file. Everything that cannot be done raises `RefusedError`."""

from __future__ import annotations

from skills_repo import guarded, rewriting
from skills_repo.anchors import Ground
from skills_repo.edit import Edit, EditLimits, EditStatus, Op, RefusedError
from skills_repo.placing import placed
from skills_repo.skill import SKILL_FILE, Skill, SkillError
from skills_repo.validate import validate


def edited_body(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill with SKILL.md edited. `base` is what the step's first edit met."""
    ground = ground_of(skill)
    return with_body_text(base, skill, _edited(ground, edit), edit.op, limits)


def ground_of(skill: Skill) -> Ground:
    """Where edits may take hold of SKILL.md."""
    if SKILL_FILE in skill.links:
        raise RefusedError(EditStatus.NOT_EDITABLE, f"{SKILL_FILE} is a link to {skill.links[SKILL_FILE]}")
    try:
        return Ground(skill.text)
    except (SkillError, UnicodeDecodeError, KeyError) as error:
        raise RefusedError(EditStatus.INVALID_RESULT, f"the skill itself is not valid: {error}") from error


def with_body_text(base: Skill, skill: Skill, after: str, op: Op, limits: EditLimits) -> Skill:
    """The skill with `after` as its SKILL.md, if that may be."""
    before = skill.text
    if after == before:
        raise RefusedError(EditStatus.NO_CHANGE)
    if len(after) > limits.max_skill_chars and len(after) >= len(before):
        detail = f"SKILL.md would have {len(after)} of {limits.max_skill_chars} characters"
        raise RefusedError(EditStatus.TOO_LARGE, detail)
    candidate = skill.with_text(after)
    _check_result(candidate, ground_of(skill), op)
    if op != Op.SLOW_UPDATE:
        rewriting.check_something_left(base.text, before, after, rewrite=op == Op.REWRITE)
    return candidate


def _edited(ground: Ground, edit: Edit) -> str:
    """The whole text with the edit made."""
    original = ground.view.original
    if edit.op == Op.REWRITE:
        return rewriting.with_body(original, edit.content)
    if edit.op == Op.SLOW_UPDATE:
        return rewriting.with_guidance(original, edit.content)
    place, new = placed(ground, edit)
    return ground.view.spliced(place.start, place.end, new)


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
