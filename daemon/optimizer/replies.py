"""What the optimizer model is asked to answer, as schemas. Whatever it answers, the guards in code decide.

Every model is strict: unknown keys are refused, so that a reply either parses whole or is asked for again.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pattern(_Reply):
    """A type of failure, or of success, seen in a minibatch."""

    type: str
    count: int
    description: str


class ProposedEdit(_Reply):
    """One edit of SKILL.md as a model proposes it."""

    op: Literal["append", "insert_after", "replace", "delete"]
    target: str
    """Anchor: text that occurs exactly once in SKILL.md; empty for append."""
    content: str
    """New text; empty for delete."""
    rationale: str
    evidence: list[str]
    """Task ids of the minibatch that ask for it."""


class MergedEdit(ProposedEdit):
    """An edit after merging: how many patches asked for it."""

    support: int


class ReflectReply(_Reply):
    """Reflection on one minibatch (schema names `reflect_failures` and `reflect_successes`)."""

    patterns: list[Pattern]
    reasoning: str
    edits: list[ProposedEdit]


class MergeReply(_Reply):
    """Several patches made one (schema name `merge`)."""

    reasoning: str
    edits: list[MergedEdit]


class RankReply(_Reply):
    """Which edits stay within the budget, best first (schema name `rank`)."""

    reasoning: str
    selected: list[int]
    """Indices into the edits shown, from 0."""
