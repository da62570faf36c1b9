"""Suggestions mode: reflection suggests changes in words; the chosen ones condition one rewrite of the whole body.

The budget clips suggestions. Their text is bounded here; the body that comes of them is bounded by `apply`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.optimizer.merge_tree import MergeForm, MergeTree
from daemon.optimizer.proposals import Proposals, folded, own, within
from daemon.optimizer.rank import Ranking
from daemon.optimizer.replies import MergedSuggestion, MergeSuggestionsReply, ProposedSuggestion, SuggestReply
from daemon.optimizer.updates.body import bodied, rewritten
from daemon.optimizer.updates.forms import ReflectForm, at_most
from daemon.optimizer.updates.mode import Proposal, UpdateContext
from daemon.optimizer.wording import counted
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, EditLimits, Op

_MAX_TITLE = 200
_MAX_INSTRUCTION = 2_000
_MAX_MOTIVATION = 1_000


@dataclass(frozen=True)
class Suggestion:
    """A change of the skill in words."""

    type: str
    title: str
    instruction: str
    motivation: str = ""
    support: int = 1
    """How many minibatches asked for it."""
    evidence: tuple[str, ...] = ()
    """Task ids that asked for it, ordered."""

    def shown(self) -> dict[str, Any]:
        """As JSON-able data for prompts and records."""
        return {
            "type": self.type,
            "title": self.title,
            "instruction": self.instruction,
            "motivation": self.motivation,
            "support": self.support,
            "evidence": list(self.evidence),
        }

    @property
    def key(self) -> tuple[str, str]:
        """What makes two suggestions the same: type and instruction, spaces and letter case aside."""
        return self.type, folded(self.instruction)


def _suggestion(proposed: ProposedSuggestion, ids: Sequence[str], leaves: int = 1) -> Suggestion:
    support = proposed.support if isinstance(proposed, MergedSuggestion) else 1
    return Suggestion(
        type=proposed.type,
        title=" ".join(proposed.title.split())[:_MAX_TITLE],
        instruction=proposed.instruction.strip()[:_MAX_INSTRUCTION],
        motivation=proposed.motivation.strip()[:_MAX_MOTIVATION],
        support=within(support, leaves),
        evidence=own(proposed.evidence, ids),
    )


def _reflected(reply: SuggestReply, ids: Sequence[str]) -> tuple[Suggestion, ...]:
    return tuple(_suggestion(row, ids) for row in reply.suggestions if row.instruction.strip())


def _merged(reply: MergeSuggestionsReply, ids: tuple[str, ...], leaves: int) -> tuple[Suggestion, ...]:
    return tuple(_suggestion(row, ids, leaves) for row in reply.suggestions if row.instruction.strip())


SUGGEST: ReflectForm[Suggestion] = ReflectForm(
    "suggest_failures", "suggest_successes", SuggestReply, _reflected, at_most("suggestion", "suggestions")
)
MERGE: MergeForm[Suggestion] = MergeForm(
    "merge_suggestions",
    MergeSuggestionsReply,
    _merged,
    Suggestion.shown,
    lambda suggestion: suggestion.key,
    fallback_note="the lists' own suggestions are taken without repetitions",
)


@dataclass(frozen=True)
class SuggestionsMode:
    """A rewrite of the body, conditioned on suggestions."""

    name: str = "suggestions"
    form: ReflectForm[Suggestion] = SUGGEST

    def budget(self, scheduled: int | None) -> int | None:
        """The scheduled one: it clips suggestions."""
        return scheduled

    def limits(self, limits: EditLimits) -> EditLimits:
        """A rewrite is allowed."""
        return replace(limits, also=limits.also | {Op.REWRITE})

    async def propose(self, patches: Sequence[Proposals[Suggestion]], context: UpdateContext) -> Proposal:
        """Merge, refuse, rank, rewrite."""
        left, so_far = await self._merge(patches, context)
        if not left:
            return so_far
        picked = await context.budget([suggestion.shown() for suggestion in left])
        context.say("rank", f"{counted(len(left), 'suggestion')}, budget {picked.budget or 'none'}")
        ranking = Ranking(context.optimizer, context.skill, context.step, Suggestion.shown, context.meta_skill)
        ranked = await ranking.rank(left, picked.budget)
        record = {**so_far.record, "chosen": [suggestion.shown() for suggestion in ranked.edits]}
        record |= {"learning_rate": picked.record} if picked.record else {}
        so_far = replace(so_far, budget=picked.budget, record=record)
        so_far = _noted(so_far, (*picked.notes, *ranked.notes), picked.usage + ranked.usage)
        return await self._write(ranked.edits, context, so_far)

    async def _merge(
        self, patches: Sequence[Proposals[Suggestion]], context: UpdateContext
    ) -> tuple[list[Suggestion], Proposal]:
        """The suggestions worth a try; where there is none, the proposal says why."""
        context.say("merge", counted(len(patches), "list of suggestions", "lists of suggestions"))
        made = (context.optimizer, context.skill, context.limits.budget, context.merge_batch, context.step)
        merged = await MergeTree(MERGE, *made, context.meta_skill).merge(patches)
        found = merged.patch.edits if merged.patch else ()
        judged = [(suggestion, context.refuse(_as_edit(suggestion))) for suggestion in found]
        refused = [f"suggestion «{suggestion.title}» refused: {reason}" for suggestion, reason in judged if reason]
        left = [suggestion for suggestion, reason in judged if not reason]
        reason = f"every suggestion was refused: {refused[0]}" if refused else "merging left no suggestion"
        return left, Proposal(
            budget=context.limits.budget,
            reason="" if left else reason,
            notes=(*merged.notes, *refused),
            usage=merged.usage,
            record={"suggestions": [suggestion.shown() for suggestion in found]},
        )

    async def _write(self, chosen: Sequence[Suggestion], context: UpdateContext, so_far: Proposal) -> Proposal:
        context.say("rewrite", f"{len(chosen)} suggestions")
        body = await rewritten(context, [suggestion.shown() for suggestion in chosen])
        so_far = _noted(so_far, body.notes, body.usage)
        if not body.text:
            return replace(so_far, reason="the optimizer wrote no new body")
        titles = "; ".join(suggestion.title for suggestion in chosen)
        edit = Edit(
            Op.REWRITE,
            content=body.text,
            rationale=f"{body.summary} ({titles})" if body.summary else titles,
            support=max(suggestion.support for suggestion in chosen),
            evidence=tuple(sorted({task for suggestion in chosen for task in suggestion.evidence})),
        )
        return bodied(so_far, edit, context)


def _as_edit(suggestion: Suggestion) -> Edit:
    """What the guards of a step look at."""
    return Edit(Op.APPEND, content=f"{suggestion.title}\n{suggestion.instruction}", evidence=suggestion.evidence)


def _noted(proposal: Proposal, notes: Sequence[str], usage: Usage) -> Proposal:
    return replace(proposal, notes=(*proposal.notes, *notes), usage=proposal.usage + usage)
