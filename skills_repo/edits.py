"""Bounded edits of a skill, enforced in code: unique anchors, budget, frozen frontmatter, guarded region, size, links.

`apply` is pure. A model can ask for anything; what is not allowed is skipped with a status, never applied in part.
"""

from __future__ import annotations

from collections.abc import Sequence

from skills_repo.body_edits import edited_body
from skills_repo.content import check_content, check_form
from skills_repo.edit import (
    MAX_EDITS,
    PATCH_OPS,
    REFERENCE_OPS,
    Applied,
    AppliedEdit,
    ApplyReport,
    Edit,
    EditLimits,
    EditStatus,
    Op,
    RefusedError,
)
from skills_repo.file_edits import created, edited_file, removed
from skills_repo.references import broken_rule
from skills_repo.skill import SKILL_FILE, Skill

__all__ = [
    "MAX_EDITS",
    "PATCH_OPS",
    "REFERENCE_OPS",
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
    body in place and `slow_update` a new guarded region, where the limits allow them. Other files are edited alike
    where the limits name them; `create` and `remove` make and take away a reference together with its link.
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
    after = _edited(base, skill, edit, limits)
    broken = broken_rule(skill, after) if limits.references else None
    if broken is not None:
        raise RefusedError(EditStatus(broken[0]), broken[1])
    return after


def _edited(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    if edit.op == Op.CREATE:
        return created(base, skill, edit, limits)
    if edit.op == Op.REMOVE:
        return removed(base, skill, edit, limits)
    if edit.file != SKILL_FILE:
        return edited_file(base, skill, edit, limits)
    return edited_body(base, skill, edit, limits)
