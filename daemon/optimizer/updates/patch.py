"""Patch mode: reflection proposes local edits; they are merged, ranked and clipped to the budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.optimizer.merge import Merger
from daemon.optimizer.proposals import Patch, shown
from daemon.optimizer.rank import rank
from daemon.optimizer.updates.forms import EDITS, ReflectForm
from daemon.optimizer.updates.mode import Proposal, UpdateContext, sifted
from daemon.optimizer.wording import counted
from skills_repo.edits import Edit, EditLimits


@dataclass(frozen=True)
class PatchMode:
    """Local edits (the method's default)."""

    name: str = "patch"
    form: ReflectForm[Edit] = EDITS

    def budget(self, scheduled: int | None) -> int | None:
        """The scheduled one."""
        return scheduled

    def limits(self, limits: EditLimits) -> EditLimits:
        """As they are."""
        return limits

    async def propose(self, patches: Sequence[Patch], context: UpdateContext) -> Proposal:
        """Merge, refuse, rank."""
        optimizer, skill, step, meta = context.optimizer, context.skill, context.step, context.meta_skill
        context.say("merge", counted(len(patches), "patch", "patches"))
        files = context.files
        merger = Merger(optimizer, skill, context.limits.budget, context.merge_batch, step, meta, files)
        merged = await merger.merge(patches)
        proposed = merged.patch.edits if merged.patch else ()
        left, refused = sifted(proposed, context.refuse)
        if not left:
            reason = f"every proposed edit was refused: {refused[0][1]}" if refused else "merging left no edit"
            return Proposal(proposed, refused, (), context.limits.budget, reason, merged.notes, merged.usage)
        picked = await context.budget([shown(edit) for edit in left])
        context.say("rank", f"{counted(len(left), 'edit')}, budget {picked.budget or 'none'}")
        ranked = await rank(optimizer, skill, left, budget=picked.budget, step=step, meta_skill=meta, files=files)
        return Proposal(
            proposed=proposed,
            refused=refused,
            chosen=ranked.edits,
            budget=picked.budget,
            notes=(*merged.notes, *picked.notes, *ranked.notes),
            usage=merged.usage + picked.usage + ranked.usage,
            record={"learning_rate": picked.record} if picked.record else {},
        )
