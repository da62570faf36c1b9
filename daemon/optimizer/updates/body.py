"""Whole bodies of SKILL.md: asking for one, and what becomes of one that was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.optimizer.prompts.render import render
from daemon.optimizer.replies import RewriteReply
from daemon.optimizer.updates.mode import Proposal, UpdateContext, sifted
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, EditLimits
from skills_repo.rewriting import room
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Body:
    """A new body, or none (empty text) and why (notes)."""

    text: str
    summary: str = ""
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def rewritten(context: UpdateContext, suggestions: Sequence[Mapping[str, Any]]) -> Body:
    """One call that carries out the suggestions."""
    place = f"{context.step}/rewrite/0"
    user = render(
        "rewrite.user.j2",
        skill=context.skill.text,
        room=chars(context.skill, context.limits),
        suggestions=suggestions,
    )
    answer = await context.optimizer.ask(place, "rewrite", RewriteReply, system=render("rewrite.system.j2"), user=user)
    if answer.reply is None:
        return Body("", notes=(answer.error,), usage=answer.usage)
    text = answer.reply.body if answer.reply.body.strip() else ""
    notes = () if text else (f"{place}: the body is empty",)
    return Body(text, " ".join(answer.reply.summary.split()), notes, answer.usage)


def bodied(so_far: Proposal, edit: Edit, context: UpdateContext) -> Proposal:
    """The proposal with one rewrite, unless the step refuses it."""
    chosen, refused = sifted([edit], context.refuse)
    reason = f"the new body was refused: {refused[0][1]}" if refused else ""
    return replace(so_far, proposed=(edit,), refused=refused, chosen=chosen, reason=reason)


def chars(skill: Skill, limits: EditLimits) -> int:
    """How long a new body may be, in characters."""
    return room(skill.text, limits.max_skill_chars)
