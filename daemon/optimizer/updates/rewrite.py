"""Full rewrite mode: every minibatch writes a whole new body; they are merged into one. No budget (an ablation)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.optimizer.merge_tree import MergeForm, MergeTree
from daemon.optimizer.proposals import Proposals, folded, own
from daemon.optimizer.replies import MergeRewritesReply, ReflectRewriteReply
from daemon.optimizer.updates.body import bodied
from daemon.optimizer.updates.forms import ReflectForm
from daemon.optimizer.updates.mode import Proposal, UpdateContext
from daemon.optimizer.wording import counted
from skills_repo.edits import Edit, EditLimits, Op


@dataclass(frozen=True)
class NewBody:
    """A whole body as a minibatch, or a merge, wants it."""

    body: str
    summary: str
    support: int = 1
    evidence: tuple[str, ...] = ()

    def shown(self) -> dict[str, Any]:
        """As JSON-able data for prompts."""
        return {
            "body": self.body,
            "summary": self.summary,
            "support": self.support,
            "evidence": list(self.evidence),
        }


def _reflected(reply: ReflectRewriteReply, ids: Sequence[str]) -> tuple[NewBody, ...]:
    if not reply.body.strip():
        return ()
    return (NewBody(reply.body, " ".join(reply.summary.split()), 1, own(reply.evidence, ids)),)


def _merged(reply: MergeRewritesReply, ids: tuple[str, ...], leaves: int) -> tuple[NewBody, ...]:
    if not reply.body.strip():
        return ()
    return (NewBody(reply.body, " ".join(reply.summary.split()), leaves, own(reply.evidence, ids)),)


def _best(bodies: Sequence[NewBody]) -> tuple[NewBody, ...]:
    """Bodies cannot be put together without reading them: the one with most support is taken, the first of equals."""
    return (max(bodies, key=lambda body: body.support),) if bodies else ()


REWRITE: ReflectForm[NewBody] = ReflectForm(
    "rewrite_failures", "rewrite_successes", ReflectRewriteReply, _reflected, lambda budget: "Write the whole new body."
)
MERGE: MergeForm[NewBody] = MergeForm(
    "merge_rewrites",
    MergeRewritesReply,
    _merged,
    NewBody.shown,
    lambda body: folded(body.body),
    _best,
    "the body with most support is taken",
)


@dataclass(frozen=True)
class RewriteMode:
    """Whole bodies without budget."""

    name: str = "rewrite"
    form: ReflectForm[NewBody] = REWRITE

    def budget(self, scheduled: int | None) -> int | None:
        """None."""
        return None

    def limits(self, limits: EditLimits) -> EditLimits:
        """One rewrite."""
        return replace(limits, budget=1, also=limits.also | {Op.REWRITE})

    async def propose(self, patches: Sequence[Proposals[NewBody]], context: UpdateContext) -> Proposal:
        """Merge all bodies into one."""
        context.say("merge", counted(len(patches), "body", "bodies"))
        tree = MergeTree(
            MERGE, context.optimizer, context.skill, None, context.merge_batch, context.step, context.meta_skill
        )
        merged = await tree.merge(patches)
        bodies = merged.patch.edits if merged.patch else ()
        so_far = Proposal(reason="merging left no body", notes=merged.notes, usage=merged.usage)
        if not bodies:
            return so_far
        [body] = _best(bodies)
        edit = Edit(Op.REWRITE, content=body.body, rationale=body.summary, support=body.support, evidence=body.evidence)
        return bodied(so_far, edit, context)
