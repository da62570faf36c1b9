"""Bounded edits of SKILL.md, enforced in code: unique anchors, budget, frozen frontmatter, guarded region, size.

`apply` is pure. A model can ask for anything; what is not allowed is skipped with a status, never applied in part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from skills_repo import guarded
from skills_repo.anchors import Ground, Miss, Place
from skills_repo.hidden import find_hidden
from skills_repo.skill import Skill, SkillError
from skills_repo.validate import validate

_BLANK_EDGES = re.compile(r"\A(?:[ \t]*\n)+|\s+\Z")


class Op(StrEnum):
    """Edit operations (SkillOpt, section on bounded edits)."""

    APPEND = "append"
    INSERT_AFTER = "insert_after"
    REPLACE = "replace"
    DELETE = "delete"


@dataclass(frozen=True)
class Edit:
    """One change to SKILL.md."""

    op: Op
    target: str = ""
    """The anchor: text that occurs exactly once outside frontmatter and guarded region; empty for append."""
    content: str = ""
    """Empty for delete."""
    rationale: str = ""
    """Why, in the optimizer's words: for the commit body, neutralised there."""
    support: int = 1
    """How many minibatch patches asked for it."""
    evidence: tuple[str, ...] = ()
    """Task ids that asked for it, ordered."""


class EditStatus(StrEnum):
    """What became of one edit."""

    APPLIED = "applied"
    OVER_BUDGET = "over_budget"
    TARGET_MISSING = "target_missing"
    TARGET_AMBIGUOUS = "target_ambiguous"
    TOUCHES_FRONTMATTER = "touches_frontmatter"
    TOUCHES_GUARDED = "touches_guarded"
    TOO_LARGE = "too_large"
    HIDDEN_CHARACTERS = "hidden_characters"
    NO_CHANGE = "no_change"
    INVALID_RESULT = "invalid_result"
    MALFORMED = "malformed"


@dataclass(frozen=True)
class EditLimits:
    """Bounds of one step."""

    budget: int
    """Edits that may be applied; edits skipped for another reason do not use it up."""
    max_skill_chars: int = 20_000
    """Of the whole SKILL.md after the edit (about 5,000 tokens: the open spec's recommendation)."""
    max_edit_chars: int = 4_000


@dataclass(frozen=True)
class AppliedEdit:
    """One row of the apply report."""

    edit: Edit
    status: EditStatus
    detail: str = ""


@dataclass(frozen=True)
class ApplyReport:
    """What became of every edit, in order."""

    rows: tuple[AppliedEdit, ...]

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The edits that changed the text, in order."""
        return tuple(row.edit for row in self.rows if row.status is EditStatus.APPLIED)


@dataclass(frozen=True)
class Applied:
    """What `apply` gives back."""

    result: Skill
    """The skill after the last applied edit; the given skill where nothing was applied."""
    report: ApplyReport
    stages: tuple[Skill, ...]
    """The skill after each applied edit, in the order of `report.applied`: one commit each."""


class _RefusedError(Exception):
    """An edit that is not applied: becomes a row of the report."""

    def __init__(self, status: EditStatus, detail: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


def apply(skill: Skill, edits: Sequence[Edit], limits: EditLimits) -> Applied:
    """Apply edits in order, each to what the one before left. Never raises, whatever a model put into the edits.

    `append` goes to the end of the file, or before the guarded region if nothing but blank lines follows it.
    `insert_after` goes below the line that holds the anchor's end. `replace` and `delete` are exact. Anchors match with
    CRLF read as LF; new text takes the file's line ends, and every byte outside the edit stays.
    """
    rows: list[AppliedEdit] = []
    stages: list[Skill] = []
    for edit in edits:
        try:
            if len(stages) >= limits.budget:
                raise _RefusedError(EditStatus.OVER_BUDGET, f"the budget is {limits.budget}")
            stages.append(_apply_one(stages[-1] if stages else skill, edit, limits))
            rows.append(AppliedEdit(edit, EditStatus.APPLIED))
        except _RefusedError as refused:
            rows.append(AppliedEdit(edit, refused.status, refused.detail))
    return Applied(stages[-1] if stages else skill, ApplyReport(tuple(rows)), tuple(stages))


def _apply_one(skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill with one edit applied, or `_RefusedError`."""
    _check_form(edit)
    _check_content(edit.content, limits)
    try:
        before = skill.text
        ground = Ground(before)
    except (SkillError, UnicodeDecodeError, KeyError) as error:
        raise _RefusedError(EditStatus.INVALID_RESULT, f"the skill itself is not valid: {error}") from error
    place, new = _splice(ground, edit)
    after = ground.view.spliced(place.start, place.end, new)
    if after == before:
        raise _RefusedError(EditStatus.NO_CHANGE)
    if len(after) > limits.max_skill_chars and len(after) >= len(before):
        detail = f"SKILL.md would have {len(after)} of {limits.max_skill_chars} characters"
        raise _RefusedError(EditStatus.TOO_LARGE, detail)
    candidate = skill.with_text(after)
    _check_result(candidate, ground)
    return candidate


def _check_form(edit: Any) -> None:
    """Types and combinations. Values come from a model, so annotations promise nothing."""
    if not isinstance(edit, Edit):
        raise _RefusedError(EditStatus.MALFORMED, "not an edit")
    for name in ("op", "target", "content", "rationale"):
        if not isinstance(getattr(edit, name), str):
            raise _RefusedError(EditStatus.MALFORMED, f"{name} is not text")
    evidence = edit.evidence
    if not isinstance(evidence, tuple | list) or not all(isinstance(task, str) for task in evidence):
        raise _RefusedError(EditStatus.MALFORMED, "evidence is no list of task ids")
    if not isinstance(edit.support, int):
        raise _RefusedError(EditStatus.MALFORMED, "support is no number")
    if edit.op not in list(Op):
        raise _RefusedError(EditStatus.MALFORMED, "unknown op")
    if edit.op != Op.APPEND and not edit.target.strip():
        raise _RefusedError(EditStatus.MALFORMED, f"{edit.op} needs a target")
    if edit.op in (Op.APPEND, Op.INSERT_AFTER) and not edit.content.strip():
        raise _RefusedError(EditStatus.MALFORMED, f"{edit.op} needs content")
    if edit.op == Op.DELETE and edit.content:
        raise _RefusedError(EditStatus.MALFORMED, "delete takes no content: use replace")


def _check_content(content: str, limits: EditLimits) -> None:
    if len(content) > limits.max_edit_chars:
        raise _RefusedError(EditStatus.TOO_LARGE, f"{len(content)} of {limits.max_edit_chars} characters for one edit")
    hidden = find_hidden(content)
    if hidden is not None:
        raise _RefusedError(EditStatus.HIDDEN_CHARACTERS, f"{hidden[1]} in line {hidden[0]} of the content")
    if guarded.MARK in content.lower():
        raise _RefusedError(EditStatus.TOUCHES_GUARDED, "the content carries a marker of the guarded region")


def _splice(ground: Ground, edit: Edit) -> tuple[Place, str]:
    """The place to replace, and by what (LF line ends)."""
    content = edit.content.replace("\r\n", "\n")
    if edit.op == Op.APPEND:
        return ground.at_end(_BLANK_EDGES.sub("", content))
    place = ground.locate(edit.target)
    if isinstance(place, Miss):
        raise _RefusedError(EditStatus(place.value))
    if edit.op == Op.INSERT_AFTER:
        return ground.below(place, content)
    return place, content


def _check_result(candidate: Skill, ground: Ground) -> None:
    """The whole file once more: valid, and what is protected still the same bytes."""
    try:
        validate(candidate)
        same = Ground(candidate.text).protected == ground.protected
    except SkillError as error:
        raise _RefusedError(EditStatus.INVALID_RESULT, str(error)) from error
    if not same:
        raise _RefusedError(EditStatus.INVALID_RESULT, "the frontmatter or the guarded region would change")
