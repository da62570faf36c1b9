"""Edits of a skill as data: what may be asked for, the bounds, and the report of what became of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from skills_repo.editable import DEFAULT, is_editable
from skills_repo.references import is_reference
from skills_repo.skill import SKILL_FILE, Skill

MAX_EDITS = 64
"""Applied in one step where no budget is set: no reply can make a thousand commits."""


class Op(StrEnum):
    """Edit operations (SkillOpt, section on bounded edits); what a step may use beside `PATCH_OPS`, its limits say."""

    APPEND = "append"
    INSERT_AFTER = "insert_after"
    REPLACE = "replace"
    DELETE = "delete"
    REWRITE = "rewrite"
    """`content` is the whole new body: what follows the frontmatter, without the guarded region."""
    SLOW_UPDATE = "slow_update"
    """`content` is the new text of the guarded region."""
    CREATE = "create"
    """A new reference `file` with `content`; `link` goes into SKILL.md, below `target` (empty: at its end)."""
    REMOVE = "remove"
    """The reference `file` goes, with the lines of SKILL.md that name it; or `target` there becomes `link`."""


PATCH_OPS = frozenset({Op.APPEND, Op.INSERT_AFTER, Op.REPLACE, Op.DELETE})
"""What every step may do."""
REFERENCE_OPS = frozenset({Op.CREATE, Op.REMOVE})
"""What makes and takes away references: one edit, one commit, so that file and link never stand apart."""


@dataclass(frozen=True)
class Edit:
    """One change to a file of the skill."""

    op: Op
    target: str = ""
    """The anchor: text that occurs exactly once in the file (of SKILL.md, outside frontmatter and guarded region).

    Empty where none is needed; of `CREATE` and `REMOVE` it is a place in SKILL.md."""
    content: str = ""
    """Empty for delete."""
    rationale: str = ""
    """Why, in the optimizer's words: for the commit body, neutralised there."""
    support: int = 1
    """How many minibatch patches asked for it."""
    evidence: tuple[str, ...] = ()
    """Task ids that asked for it, ordered."""
    file: str = SKILL_FILE
    """Relative POSIX path in the skill's folder."""
    link: str = ""
    """For `CREATE` and `REMOVE` alone: text for SKILL.md."""

    @property
    def said(self) -> str:
        """What it writes, or else what it takes away; of another file than SKILL.md, that first."""
        text = self.content or self.target
        if self.file == SKILL_FILE:
            return text
        return f"{self.file}: {text}" if text else self.file


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
    DELETES_DOCUMENT = "deletes_document"
    INVALID_RESULT = "invalid_result"
    NOT_ALLOWED = "not_allowed"
    MALFORMED = "malformed"
    NOT_EDITABLE = "not_editable"
    FILE_MISSING = "file_missing"
    FILE_EXISTS = "file_exists"
    BAD_FILE_NAME = "bad_file_name"
    NOT_TEXT = "not_text"
    NOT_LINKED = "not_linked"
    DEAD_LINK = "dead_link"

    @property
    def explanation(self) -> str:
        """One plain sentence for people and for the optimizer."""
        return _EXPLANATIONS[self]


_EXPLANATIONS: Mapping[EditStatus, str] = {
    EditStatus.APPLIED: "The edit was applied.",
    EditStatus.OVER_BUDGET: "The step's edit budget was used up by the edits before it.",
    EditStatus.TARGET_MISSING: "The target does not occur in the skill, character for character.",
    EditStatus.TARGET_AMBIGUOUS: "The target occurs more than once in the skill, so its place is not certain.",
    EditStatus.TOUCHES_FRONTMATTER: "The edit would touch the frontmatter, which no edit may change.",
    EditStatus.TOUCHES_GUARDED: "The edit would touch the guarded region, which only the slow update may write.",
    EditStatus.TOO_LARGE: "The edit, or the skill with it, would be larger than allowed.",
    EditStatus.HIDDEN_CHARACTERS: "The content has characters that nobody can see in a review.",
    EditStatus.NO_CHANGE: "The skill would be the same with the edit as without it.",
    EditStatus.DELETES_DOCUMENT: "The edit would leave little or nothing of the skill's body.",
    EditStatus.INVALID_RESULT: "The whole file would not be a valid skill with the edit.",
    EditStatus.NOT_ALLOWED: "The operation is not one that this step may use.",
    EditStatus.MALFORMED: "The edit is not well formed.",
    EditStatus.NOT_EDITABLE: "The file is not one that edits may change.",
    EditStatus.FILE_MISSING: "The skill has no such file.",
    EditStatus.FILE_EXISTS: "The skill has a file of that name already: edit that one.",
    EditStatus.BAD_FILE_NAME: "A file may not have that name.",
    EditStatus.NOT_TEXT: "The file is no UTF-8 text.",
    EditStatus.NOT_LINKED: "SKILL.md would not name a reference by its path, so no agent would open it.",
    EditStatus.DEAD_LINK: "A reference would be named that is not there.",
}


@dataclass(frozen=True)
class EditLimits:
    """Bounds of one step."""

    budget: int | None
    """Edits that may be applied (None: `MAX_EDITS`); edits skipped for another reason do not use it up."""
    max_skill_chars: int = 20_000
    """Of the whole SKILL.md after the edit (about 5,000 tokens: the open spec's recommendation)."""
    max_edit_chars: int = 4_000
    """Of a patch edit's content; a rewrite is bounded by `max_skill_chars` alone."""
    max_guarded_chars: int = 3_000
    """Of the guarded region's new text."""
    also: frozenset[Op] = frozenset()
    """Operations allowed besides `PATCH_OPS`: `REWRITE`, `SLOW_UPDATE`, `REFERENCE_OPS`."""
    editable: tuple[str, ...] = DEFAULT
    """Patterns of the files that edits may change (`skills_repo.editable`); SKILL.md is always among them."""
    references: bool = False
    """References may be changed, too, and the link rule holds (`skills_repo.references`)."""
    max_reference_chars: int = 20_000
    """Of any file but SKILL.md after the edit, a new one among them."""
    max_link_chars: int = 500
    """Of `Edit.link`, and of a line that goes with a reference."""

    def allows(self, file: str) -> bool:
        """Edits may change this file."""
        return is_editable(file, self.editable) or (self.references and is_reference(file))

    @property
    def most(self) -> int:
        """The budget as a number."""
        return MAX_EDITS if self.budget is None else self.budget


@dataclass(frozen=True)
class AppliedEdit:
    """One row of the apply report."""

    edit: Edit
    status: EditStatus
    detail: str = ""

    @property
    def reason(self) -> str:
        """Status and detail in one line."""
        return f"{self.status}: {self.detail}" if self.detail else str(self.status)


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


class RefusedError(Exception):
    """An edit that is not applied: becomes a row of the report."""

    def __init__(self, status: EditStatus, detail: str = "") -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
