"""What the optimizer model is asked to answer, as schemas. Whatever it answers, the guards in code decide.

Every model is strict: unknown keys are refused, so that a reply either parses whole or is asked for again.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Reply(BaseModel):
    """What all replies have in common."""

    # A reply is journaled as JSON, which has no NaN.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Pattern(Reply):
    """A type of failure, or of success, seen in a minibatch."""

    type: str
    count: int
    description: str


class ProposedEdit(Reply):
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


class ReflectReply(Reply):
    """Reflection on one minibatch (schema names `reflect_failures` and `reflect_successes`)."""

    patterns: list[Pattern]
    reasoning: str
    edits: list[ProposedEdit]


class MergeReply(Reply):
    """Several patches made one (schema name `merge`)."""

    reasoning: str
    edits: list[MergedEdit]


class RankReply(Reply):
    """Which edits stay within the budget, best first (schema name `rank`)."""

    reasoning: str
    selected: list[int]
    """Indices into the edits shown, from 0."""


class ProposedSuggestion(Reply):
    """A change of the skill in words, for a rewrite to carry out."""

    type: Literal["add_rule", "remove_rule", "merge_rules", "reorganize", "compress", "clarify"]
    title: str
    instruction: str
    """What the rewrite is to do."""
    motivation: str
    evidence: list[str]
    """Task ids of the minibatch that ask for it."""


class MergedSuggestion(ProposedSuggestion):
    """A suggestion after merging: how many minibatches asked for it."""

    support: int


class SuggestReply(Reply):
    """Reflection that suggests (schema names `suggest_failures` and `suggest_successes`)."""

    patterns: list[Pattern]
    reasoning: str
    suggestions: list[ProposedSuggestion]


class MergeSuggestionsReply(Reply):
    """Several lists of suggestions made one (schema name `merge_suggestions`)."""

    reasoning: str
    suggestions: list[MergedSuggestion]


class RewriteReply(Reply):
    """A whole new body, conditioned on suggestions (schema name `rewrite`)."""

    reasoning: str
    summary: str
    """What changes and why, for the commit."""
    body: str
    """All that follows the frontmatter, without guarded region."""


class ReflectRewriteReply(Reply):
    """Reflection that rewrites at once (schema names `rewrite_failures` and `rewrite_successes`)."""

    patterns: list[Pattern]
    reasoning: str
    summary: str
    body: str
    """Empty: nothing to change."""
    evidence: list[str]


class MergeRewritesReply(Reply):
    """Several bodies made one (schema name `merge_rewrites`)."""

    reasoning: str
    summary: str
    body: str
    evidence: list[str]


class CorrectedEdit(Reply):
    """One missed edit, placed anew."""

    index: int
    """Of the edit as shown, from 0."""
    op: Literal["append", "insert_after", "replace", "delete"]
    target: str
    content: str


class RepairReply(Reply):
    """Corrections of edits that missed (schema name `repair`)."""

    reasoning: str
    edits: list[CorrectedEdit]


class RepairBodyReply(Reply):
    """A refused whole body, corrected (schema name `repair_body`)."""

    reasoning: str
    body: str


class LearningRateReply(Reply):
    """How many edits this step may make (schema name `learning_rate`)."""

    learning_rate: int
    reasoning: str
    confidence: float
    """0..1."""
    risk_notes: str


class SlowUpdateReply(Reply):
    """Guidance over epochs for the guarded region (schema name `slow_update`)."""

    reasoning: str
    guidance: str
    """The region's whole new text; empty: none is worth its place."""


class MetaSkillReply(Reply):
    """The optimizer's notes to itself (schema name `meta_skill`)."""

    reasoning: str
    notes: str
    """The whole new text."""
