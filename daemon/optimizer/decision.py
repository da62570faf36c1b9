"""What a run decided, whole: enough to go on after a crash without asking anyone anything again.

A decision holds no figure that depends on timing or on what happened to be cached, so equal runs decide equally;
`when` is the one exception, and it is journaled so that commits keep their date.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.gates.verdict import Pool, Verdict
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
    "budget",
]


Group = Literal["improved", "regressed", "persistent_failure", "stable_success"]
"""What became of a task from the skill of one epoch to that of the next."""
GROUPS: tuple[Group, ...] = ("regressed", "persistent_failure", "improved", "stable_success")
"""In the order in which the optimizer reads them."""


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


class Judged(_Payload):
    """A candidate and what the gate made of it: what a step and a slow update have in common."""

    step: int
    epoch: int
    when: float
    """Unix time of the decision: the commits' date."""
    outcome: StepOutcome
    reason: str
    """In words."""
    base_digest: str
    patterns: tuple[Pattern, ...] = ()
    """Failure patterns seen."""
    refused: tuple[RefusedEdit, ...] = ()
    chosen: tuple[Edit, ...] = ()
    """In order of application."""
    report: tuple[AppliedEdit, ...] = ()
    candidate_digest: str = ""
    flagged: tuple[str, ...] = ()
    """What the candidate adds that a person should look at before an agent does: `kind: file: text`."""
    verdict: Verdict | None = None
    """None: it did not come to a gate."""
    notes: tuple[str, ...] = ()
    """What went wrong on the way and was gone on without, in words."""
    optimizer_usage: Usage = Usage()
    attempts: int = 0
    """Scored attempts that it rests on: rollouts, the candidate's, and those of the current skill made for it."""
    target_usage: Usage = Usage()
    """Of these attempts, whoever paid for them."""

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The candidate's edits."""
        return tuple(row.edit for row in self.report if row.status == "applied")


class StepDecision(Judged):
    """One step. Phases it did not come to leave their defaults."""

    batches: tuple[tuple[str, ...], ...]
    rollout: RolloutSummary
    budget: int | None
    """Most edits; None: unbounded."""
    minibatches: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Place of each reflection (`failures.0.1`) and the task ids it saw."""
    patches: int = 0
    """Minibatch patches that proposed something."""
    proposed: tuple[Edit, ...] = ()
    """All edits after merging."""
    record: dict[str, Any] = {}
    """What the update mode decided beside edits (suggestions, a picked budget), for people."""
    shares: tuple[float, ...] = ()
    """With attribution: what each applied edit carries of the difference."""


class SlowUpdateDecision(Judged):
    """The guidance written at the end of an epoch."""

    sampled: tuple[str, ...] = ()
    """Train tasks compared under the skills of two epochs."""
    improved: tuple[str, ...] = ()
    regressed: tuple[str, ...] = ()
    persistent_failure: tuple[str, ...] = ()
    stable_success: tuple[str, ...] = ()
    forced: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """How many tasks each group has."""
        return {group: len(getattr(self, group)) for group in GROUPS}


class MetaSkillDecision(_Payload):
    """The optimizer's own notes, rewritten at the end of an epoch."""

    step: int
    epoch: int
    content: str
    """What later prompts carry: the earlier notes where the optimizer gave none."""
    notes: tuple[str, ...] = ()
    optimizer_usage: Usage = Usage()


class BaselineDecision(_Payload):
    """The initial skill on the selection split."""

    when: float
    base_digest: str
    measured: Measured | None
    """None: the gate is off, nothing was measured."""
    pool: Pool = Pool()
    fingerprint: dict[str, str]
    """The parts of the run's fingerprint, for people."""


class ReportDecision(_Payload):
    """What a run came to, as its report says it: the figures that no other decision holds."""

    when: float
    ended: str
    """Why the run ended, in words."""
    failed: bool
    metric: str
    before: Measured | None
    """The selection split under the initial skill; None: not measured."""
    after: Measured | None
    best_digest: str
    current_is_best: bool
