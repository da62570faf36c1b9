"""The seam between a step and its update mode.

A step asks reflection in the mode's `form`, hands what came of it to `propose`, and applies what is chosen within
`limits`. Whatever the mode, the outcome is a tuple of edits: gate, buffer, commits and report know no modes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.proposals import Proposals
from daemon.optimizer.skill_files import SkillFiles
from daemon.optimizer.updates.forms import ReflectForm
from daemon.optimizer.updates.learning_rate import LearningRate, Picked
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, EditLimits
from skills_repo.skill import Skill


def _never(edit: Edit) -> str:
    return ""


def _silent(phase: str, detail: str) -> None:
    pass


@dataclass(frozen=True)
class UpdateContext:
    """What a step gives its update mode."""

    optimizer: Optimizer
    skill: Skill
    buffer: StepBuffer
    """Of this epoch."""
    step: int
    merge_batch: int
    limits: EditLimits
    """Its budget is the step's: None for none, with a learning rate the most that may be picked."""
    learning_rate: LearningRate | None = None
    """Where the optimizer picks the budget itself (`autonomous`)."""
    meta_skill: str = ""
    """The optimizer's own memory."""
    refuse: Callable[[Edit], str] = _never
    """Why an edit is not worth a try (firewall, buffer, no effect); empty if it is."""
    say: Callable[[str, str], None] = _silent
    """Told the phase and a detail."""

    @property
    def files(self) -> SkillFiles | None:
        """What may be edited besides SKILL.md."""
        return SkillFiles.of(self.skill, self.limits)

    async def budget(self, rows: Sequence[Mapping[str, Any]]) -> Picked:
        """The step's budget, now that it is known what is proposed."""
        if self.learning_rate is None:
            return Picked(self.limits.budget)
        self.say("learning_rate", f"{len(rows)} changes proposed")
        return await self.learning_rate.pick(self.optimizer, self.skill, self.buffer, rows, step=self.step)


@dataclass(frozen=True)
class Proposal:
    """What a step's update comes to."""

    proposed: tuple[Edit, ...] = ()
    """All edits after merging."""
    refused: tuple[tuple[Edit, str], ...] = ()
    """Those not tried, with the reason."""
    chosen: tuple[Edit, ...] = ()
    """What `apply` is given, in order."""
    budget: int | None = None
    """The edit budget that held: scheduled or picked; None for none."""
    reason: str = ""
    """Why nothing was chosen, in words."""
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    record: Mapping[str, Any] = field(default_factory=dict)
    """What the mode decided beside edits (suggestions, ...), as JSON-able data to be shown later."""

    def reworded(self, remark: Callable[[str], str]) -> Proposal:
        """The same, with all that the optimizer says beside its edits put through `remark`."""

        def said(edit: Edit) -> Edit:
            return replace(edit, rationale=remark(edit.rationale))

        return replace(
            self,
            proposed=tuple(map(said, self.proposed)),
            refused=tuple((said(edit), reason) for edit, reason in self.refused),
            chosen=tuple(map(said, self.chosen)),
            reason=remark(self.reason),
            notes=tuple(map(remark, self.notes)),
        )


class UpdateMode(Protocol):
    """One way to come from reflection to edits. Holds no state."""

    @property
    def name(self) -> str:
        """As in `[train] update_mode`."""

    @property
    def form(self) -> ReflectForm[Any]:
        """What reflection is asked for."""

    def budget(self, scheduled: int | None) -> int | None:
        """The edit budget that reflection is told: the scheduled one, or None where the mode knows none."""

    def limits(self, limits: EditLimits) -> EditLimits:
        """The bounds of `apply` for what this mode proposes."""

    async def propose(self, patches: Sequence[Proposals[Any]], context: UpdateContext) -> Proposal:
        """Merge, refuse, rank and (where the mode rewrites) write; `patches` are reflection's, in order."""


def sifted(
    edits: Sequence[Edit], refuse: Callable[[Edit], str]
) -> tuple[tuple[Edit, ...], tuple[tuple[Edit, str], ...]]:
    """The edits worth a try, and the others with the reason."""
    reasons = [(edit, refuse(edit)) for edit in edits]
    return tuple(edit for edit, reason in reasons if not reason), tuple(row for row in reasons if row[1])
