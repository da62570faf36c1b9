"""What the optimizer is asked to answer where edits may touch other files than SKILL.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from daemon.optimizer.replies import MergeReply, Pattern, ReflectReply, RepairReply, Reply
from daemon.optimizer.skill_files import SkillFiles


class FileEdit(Reply):
    """One edit of a file of the skill as a model proposes it."""

    op: Literal["append", "insert_after", "replace", "delete"]
    file: str
    """Path in the skill's folder: SKILL.md or an editable file."""
    target: str
    content: str
    rationale: str
    evidence: list[str]


class MergedFileEdit(FileEdit):
    """After merging: how many patches asked for it."""

    support: int


class CorrectedFileEdit(Reply):
    """One missed edit, placed anew."""

    index: int
    op: Literal["append", "insert_after", "replace", "delete"]
    file: str
    target: str
    content: str


class ReferenceEdit(Reply):
    """The same where references may come and go."""

    op: Literal["append", "insert_after", "replace", "delete", "create", "remove"]
    file: str
    target: str
    content: str
    link: str
    """For create and remove: what SKILL.md says of the file; empty for others."""
    rationale: str
    evidence: list[str]


class MergedReferenceEdit(ReferenceEdit):
    """After merging: how many patches asked for it."""

    support: int


class CorrectedReferenceEdit(Reply):
    """One missed edit, placed anew."""

    index: int
    op: Literal["append", "insert_after", "replace", "delete", "create", "remove"]
    file: str
    target: str
    content: str
    link: str


E = TypeVar("E", bound=Reply)


class ReflectFiles(Reply, Generic[E]):
    """Reflection on one minibatch."""

    patterns: list[Pattern]
    reasoning: str
    edits: list[E]


class EditFiles(Reply, Generic[E]):
    """A merged patch, or corrections."""

    reasoning: str
    edits: list[E]


@dataclass(frozen=True)
class Schemas:
    """The replies of one way to edit."""

    reflect: type[BaseModel]
    merge: type[BaseModel]
    repair: type[BaseModel]


def schemas(files: SkillFiles | None) -> Schemas:
    """What replies may hold: nothing about files where SKILL.md alone is edited."""
    if files is None:
        return Schemas(ReflectReply, MergeReply, RepairReply)
    if not files.references:
        return Schemas(ReflectFiles[FileEdit], EditFiles[MergedFileEdit], EditFiles[CorrectedFileEdit])
    return Schemas(ReflectFiles[ReferenceEdit], EditFiles[MergedReferenceEdit], EditFiles[CorrectedReferenceEdit])
