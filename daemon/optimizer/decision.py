"""What a step decided, whole: enough to go on after a crash without asking anyone anything again.

A decision holds no figure that depends on timing or on what happened to be cached, so equal runs decide equally;
`when` is the one exception, and it is journaled so that commits keep their date.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.replies import Pattern
from sandboxes.gateway.policy import Usage
from skills_repo.edits import AppliedEdit, Edit

StepOutcome = Literal[
    "accepted",
    "rejected",
    "indecisive",
    "nothing_to_learn",
    "no_valid_attempts",
    "no_edits",
    "no_change",
    "optimizer_error",
]


class _Payload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def payload(self) -> dict[str, Any]:
        """JSON-able data for the journal."""
        return self.model_dump(mode="json")


class RolloutSummary(_Payload):
    """What the step's rollouts came to."""

    asked: int = 0
    valid: int = 0
    solved: int = 0
    hard: float | None = None
    """Share solved of the valid; None without any."""
    soft: float | None = None
    invalid: tuple[str, ...] = ()
    """`task: outcome`, one for each invalid attempt."""


class RefusedEdit(_Payload):
    """An edit that was not even tried."""

    edit: Edit
    reason: str


class StepDecision(_Payload):
    """One step. Phases it did not come to leave their defaults."""

    step: int
    epoch: int
    when: float
    """Unix time of the decision: the commits' date."""
    outcome: StepOutcome
    reason: str
    """In words."""
    batches: tuple[tuple[str, ...], ...]
    rollout: RolloutSummary
    budget: int
    base_digest: str
    patterns: tuple[Pattern, ...] = ()
    """Failure patterns seen."""
    patches: int = 0
    """Minibatch patches that proposed something."""
    proposed: tuple[Edit, ...] = ()
    """All edits after merging."""
    refused: tuple[RefusedEdit, ...] = ()
    chosen: tuple[Edit, ...] = ()
    """After ranking, in order of application."""
    report: tuple[AppliedEdit, ...] = ()
    candidate_digest: str = ""
    verdict: Verdict | None = None
    measured: Measured | None = None
    """The candidate on the selection split."""
    notes: tuple[str, ...] = ()
    """What went wrong on the way and was gone on without, in words."""
    optimizer_usage: Usage = Usage()

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The candidate's edits."""
        return tuple(row.edit for row in self.report if row.status == "applied")


class BaselineDecision(_Payload):
    """The initial skill on the selection split."""

    when: float
    base_digest: str
    measured: Measured
    fingerprint: dict[str, str]
    """The parts of the run's fingerprint, for people."""
