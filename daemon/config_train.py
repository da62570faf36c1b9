"""`[train]` and `[budget]` of honed.toml: the method's knobs, and what may be spent.

Names and defaults are the published method's (SkillOpt) where it has them. `mode` only changes defaults: a key that is
written down always holds.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Section(BaseModel):
    """A section of honed.toml: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


PAPER: dict[str, Any] = {"gate": "strict", "size_penalty": 0.0, "refuse_rejected": False, "buffer_groups": False}
"""What `mode = "paper"` sets apart from the defaults: the method as published, the gate above all."""


class TrainSection(Section):
    """`[train]`: the method's knobs (names and defaults from the method's paper)."""

    mode: Literal["honed", "paper"] = "honed"
    """`paper` sets the paper's choices at once (`PAPER`)."""
    epochs: int = Field(default=4, ge=1)
    batch: int = Field(default=40, ge=1)
    accumulation: int = Field(default=1, ge=1)
    minibatch: int = Field(default=8, ge=1)
    merge_batch: int = Field(default=8, ge=2)
    trace_tokens: int = Field(default=24_000, ge=1_000)
    """Tokens of the attempts that one reflection sees."""
    edit_budget: int = Field(default=4, ge=1)
    min_edit_budget: int = Field(default=2, ge=1)
    schedule: Literal["constant", "linear", "cosine", "autonomous", "unbounded"] = "cosine"
    """`autonomous`: the optimizer picks within the bounds; `unbounded`: no edit budget (an ablation)."""
    update_mode: Literal["patch", "suggestions", "rewrite"] = "patch"
    """Local edits; a rewrite conditioned on the chosen suggestions; a whole rewrite without budget."""
    rejected_buffer: bool = True
    buffer_groups: bool = True
    """The buffer says what a rejected set of edits did to each group of tasks."""
    refuse_rejected: bool = True
    """Refuse a set of edits that was rejected on the same skill in this run."""
    slow_update: Literal["gated", "forced", "off"] = "gated"
    slow_update_samples: int = Field(default=20, ge=1)
    meta_skill: bool = True
    gate: Literal["paired", "strict", "off"] = "paired"
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    mixed_weight: float = Field(default=0.5, ge=0, le=1)
    gate_trials: int = Field(default=3, ge=1, le=50)
    """Most trials per task of a candidate (paired)."""
    gate_pool: int = Field(default=6, ge=1, le=100)
    """Most trials per task pooled for the current skill (paired)."""
    gate_error: float = Field(default=0.05, gt=0, lt=0.5)
    """Probability of accepting a candidate that is no better, over all looks of one judgement (paired)."""
    size_penalty: float = Field(default=0.001, ge=0, le=0.1)
    """Score per 1,000 characters of SKILL.md: breaks ties for the shorter skill."""
    attribution: bool = False
    """Drop edits that carry nothing (leave-one-edit-out) before an accepted step is committed."""
    seed: int = 42
    min_valid: float = Field(default=0.8, gt=0, le=1)
    """Smallest share of valid (pairs of) attempts that a step may be decided on."""
    attempt_tries: int = Field(default=3, ge=1)
    """Tries of one attempt while its outcome is a failure of ours."""

    @model_validator(mode="before")
    @classmethod
    def _mode(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("mode") == "paper":
            return {**PAPER, **data}
        return data


class CapSection(Section):
    """`[budget.step]`, `[budget.run]`, `[budget.day]`: what may be spent; a key that is not there bounds nothing."""

    attempts: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    """Of target and optimizer, input and output."""
    usd: float | None = Field(default=None, gt=0)
    minutes: float | None = Field(default=None, gt=0)
    """Wall time."""


class BudgetSection(Section):
    """`[budget]`: caps, checked before spending. One attempt's own caps are in `[target]`."""

    step: CapSection = CapSection()
    run: CapSection = CapSection()
    day: CapSection = CapSection()
    """A calendar day (UTC), over all runs of this state folder."""
