"""What a run has to say for itself: scores before and after, every edit's fate, commits, costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from daemon.optimizer.decision import SlowUpdateDecision, StepDecision
from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.proposals import normalised
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit

Fate = Literal["accepted", "rejected", "undecided", "refused", "not_chosen", "skipped"]


@dataclass(frozen=True)
class EditFate:
    """What became of one proposed edit."""

    step: int
    edit: Edit
    fate: Fate
    reason: str
    commit: str = ""
    """Of an accepted edit."""


@dataclass(frozen=True)
class BeforeAfter:
    """A split under the initial and under the best skill; None where it is empty or was not measured."""

    before: Measured | None
    after: Measured | None


@dataclass(frozen=True)
class RunReport:
    """A finished run."""

    run_id: str
    skill: str
    resumed: bool
    ended: str
    """Why the run ended, in words."""
    failed: bool
    """Going on would only have repeated what failed: the optimizer gave nothing usable, or no attempt was valid."""
    metric: str
    selection: BeforeAfter
    test: BeforeAfter
    steps: tuple[StepDecision, ...]
    edits: tuple[EditFate, ...]
    commits: tuple[str, ...]
    """Oldest first."""
    base_commit: str
    best_digest: str
    current_is_best: bool
    """False: since a forced slow update, no skill on the branch has scored better than the best one before it."""
    target_usage: Usage
    """Everything paid under this run, before a restart too; results read back from other runs cost nothing."""
    optimizer_usage: Usage
    attempts: int
    invalid: int
    """Attempts that came to no score, retried ones among them."""
    wall_s: float
    """Of every process that worked on the run."""

    def count(self, *fates: Fate) -> int:
        """How many edits had one of these fates."""
        return sum(edit.fate in fates for edit in self.edits)

    @property
    def proposed(self) -> int:
        """Edits after merging."""
        return len(self.edits)

    @property
    def accepted(self) -> int:
        """Edits committed."""
        return self.count("accepted")

    @property
    def rejected(self) -> int:
        """Edits that the gate rejected, or that were refused before they came to it or were dropped after."""
        return self.count("rejected", "refused")


Commits = Mapping[tuple[int, str], tuple[str, ...]]
"""By step and phase: each accepted decision's commits in edit order."""


def edit_fates(steps: Iterable[StepDecision], commits: Commits) -> tuple[EditFate, ...]:
    """Every proposed edit with its fate, by step."""
    return tuple(fate for step in steps for fate in _of_step(step, commits.get((step.step, "step"), ())))


def guidance_fates(updates: Iterable[SlowUpdateDecision], commits: Commits) -> tuple[EditFate, ...]:
    """The guidance of every slow update that wrote some."""
    fates = []
    for update in updates:
        made = commits.get((update.step, "slow_update"), ())
        fate = _BY_OUTCOME.get(update.outcome, "skipped")
        fates += [EditFate(update.step, row.edit, "refused", row.reason) for row in update.refused]
        fates += [EditFate(update.step, edit, fate, update.reason, *made[:1]) for edit in update.chosen]
    return tuple(fates)


_BY_OUTCOME: Mapping[str, Fate] = {"accepted": "accepted", "rejected": "rejected", "indecisive": "undecided"}


def _of_step(step: StepDecision, commits: tuple[str, ...]) -> Iterable[EditFate]:
    chosen = {normalised(edit) for edit in (*step.chosen, *(row.edit for row in step.report))}
    refused = {normalised(row.edit) for row in step.refused}
    for row in step.refused:
        yield EditFate(step.step, row.edit, "refused", row.reason)
    waiting = iter(commits)
    for applied in step.report:
        if applied.status == "applied" and step.outcome in _BY_OUTCOME:
            commit = next(waiting, "") if step.outcome == "accepted" else ""
            yield EditFate(step.step, applied.edit, _BY_OUTCOME[step.outcome], step.reason, commit)
        elif applied.status == "applied":
            yield EditFate(step.step, applied.edit, "skipped", step.reason)
        else:
            reason = f"{applied.status}: {applied.detail}".removesuffix(": ")
            yield EditFate(step.step, applied.edit, "skipped", reason)
    for edit in step.proposed:
        if normalised(edit) not in chosen | refused:
            yield EditFate(step.step, edit, "not_chosen", f"over the budget of {step.budget}, ranked lower")
