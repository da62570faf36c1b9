"""Bounded edits of SKILL.md, enforced in code: unique anchors, budget, frozen frontmatter, guarded region, size.

`apply` is pure. A model can ask for anything; what is not allowed is skipped with a status, never applied in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
