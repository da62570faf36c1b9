"""The rows of the journal as data.

An attempt is keyed by content (`AttemptKey`), an optimizer reply by its place in the run and its prompt's digest, so
resuming is running the same code again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class AttemptKey:
    """What decides an attempt's result. Equal keys: never pay twice."""

    skill_digest: str
    """Empty for no skill."""
    task_digest: str
    harness: str
    settings: Mapping[str, str]
    """`Harness.settings()` plus the engine's image digest."""
    trial: int = 0

    @property
    def digest(self) -> str:
        """`sha256:` of the canonical JSON."""
        parts = {**vars(self), "settings": dict(self.settings)}
        return "sha256:" + hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class AttemptRecord:
    """A finished attempt as it is remembered and reflected on."""

    attempt_id: str
    key: str
    task_id: str
    outcome: str
    detail: str
    score: float | None
    """None: invalid."""
    hard: bool | None
    feedback: str
    summary: str
    """The trace summary for reflection."""
    final_answer: str
    skill_listed: bool | None
    skill_opened: bool
    usage: Mapping[str, Any]
    """`sandboxes.gateway.policy.Usage` as a mapping."""
    wall_s: float
    versions: Mapping[str, str]
    engine: Mapping[str, Any]
    """`EngineFacts` as a mapping; empty for chat."""
    score_detail: Mapping[str, Any]
    """May hold gold: for people only."""


@dataclass(frozen=True)
class RunRecord:
    """One training run."""

    run_id: str
    fingerprint: str
    skill: str
    base_commit: str
    state: str
    """`open`, `done` or `failed`."""
    started: float
    """Unix time."""


@dataclass(frozen=True)
class AttemptRow:
    """A finished attempt with what decided it."""

    run_id: str
    """The run that paid for it."""
    key: AttemptKey
    record: AttemptRecord
    planned: float | None = None
    """Unix time; None in rows of an older honed."""


@dataclass(frozen=True)
class ReplyRecord:
    """What the optimizer model answered at a place (`step/phase/ordinal`) of a run."""

    place: str
    prompt_digest: str
    reply: Mapping[str, Any]


@dataclass(frozen=True)
class Spent:
    """One attempt begun, or one optimizer reply paid, as budgets and estimates see it."""

    payer: Literal["target", "optimizer"]
    harness: str
    """Empty for the optimizer."""
    model: str
    """Empty where it is not known."""
    usage: Mapping[str, Any] | None
    """None: an attempt that was cut off, or still runs; what it cost is not known."""
    wall_s: float
    scored: bool
    """An attempt with a score."""


@dataclass(frozen=True)
class Span:
    """One process at work on a run: from its start to the last row that it wrote. Unix times."""

    run_id: str
    started: float
    seen: float


@dataclass(frozen=True)
class Decision:
    """What a step decided, as JSON-able data (`kind`: baseline, step, commits, test_reserved, final)."""

    run_id: str
    step: int
    kind: str
    payload: Mapping[str, Any]
