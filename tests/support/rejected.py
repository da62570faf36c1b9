"""Commits of edits that a gate turned down."""

from __future__ import annotations

from skills_repo.edits import Edit, Op
from skills_repo.history import EditCommit
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.skill import Skill
from tests.support.skills import skill_text

GATE = GateFigures("paired/hard", 8, 2, before=0.5, after=0.25, valid=1.0)


def with_lines(*lines: str) -> Skill:
    return Skill("xlsx", {"SKILL.md": skill_text("\n# Rules\n\n" + "".join(f"{line}\n" for line in lines)).encode()})


def rejected(skill: Skill, *, step: int = 1, position: int = 1, of: int = 1, phase: str = "step") -> EditCommit:
    edit = Edit(Op.APPEND, content="- a rule", rationale="because", evidence=("t-1",))
    note = EditNote(
        "r1", step, position, of, "xlsx", "sha256:b", edit, GATE, "codex 1 / m", "o", phase=phase, ruling="rejected"
    )
    return EditCommit(skill, compose(note))
