"""Reflection: minibatches of failures and of successes, all at once, their patches in the minibatches' order.

The optimizer sees what train attempts did and rubric-level feedback; `Task.answer` and `score_detail` never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.optimizer.asking import Answer, Optimizer
from daemon.optimizer.attempts import TRACE_TOKENS, Outgoing, shown, unchanged
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import Patch, Source, to_edit, unite_patterns
from daemon.optimizer.replies import Pattern, ReflectReply
from daemon.rollouts.parallel import ordered
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill

MOST_EDITS = 64
"""Taken from one reply where there is no edit budget: a bound on what a model may cost us, not on what it may say."""


@dataclass(frozen=True)
class Reflection:
    """What all minibatches of a step came to."""

    patches: tuple[Patch, ...]
    """Those that propose something, in order."""
    patterns: tuple[Pattern, ...]
    """Failure patterns only."""
    errors: tuple[str, ...]
    """One line for each minibatch that was dropped."""
    notes: tuple[str, ...]
    asked: int
    """Minibatches."""
    usage: Usage


@dataclass(frozen=True)
class Reflector:
    """Reflects for one step."""

    optimizer: Optimizer
    skill: Skill
    buffer: StepBuffer
    budget: int | None
    """None: no edit budget; then `MOST_EDITS` bound a reply."""
    step: int
    meta_skill: str = ""
    """The optimizer's own memory; the target never sees it."""
    outgoing: Outgoing = unchanged
    trace_tokens: int = TRACE_TOKENS

    async def reflect(self, cut: Sequence[Minibatch]) -> Reflection:
        """Ask for a patch from every minibatch, all at once."""
        answers = await ordered(self.reflect_one(minibatch) for minibatch in cut)
        return self.gather(cut, answers)

    async def reflect_one(self, minibatch: Minibatch) -> Answer[ReflectReply]:
        """Ask for a patch from one minibatch, whenever it is complete."""
        role = "reflect_successes" if minibatch.solved else "reflect_failures"
        user = render(
            "reflect.user.j2",
            meta_skill=self.meta_skill,
            skill=self.skill.text,
            budget=self.budget,
            earlier=self.buffer.entries,
            attempts=shown(minibatch.results, self.trace_tokens, skill=self.skill.text, outgoing=self.outgoing),
        )
        place = self._place(minibatch)
        return await self.optimizer.ask(place, role, ReflectReply, system=render(f"{role}.system.j2"), user=user)

    def gather(self, cut: Sequence[Minibatch], answers: Sequence[Answer[ReflectReply]]) -> Reflection:
        """What the answers to these minibatches (in the same order) come to; it asks nothing."""
        most = MOST_EDITS if self.budget is None else self.budget
        patches: list[Patch] = []
        notes: list[str] = []
        for minibatch, answer in zip(cut, answers, strict=True):
            proposed = answer.reply.edits if answer.reply else []
            if len(proposed) > most:
                notes.append(f"{self._place(minibatch)}: {len(proposed)} edits proposed, the first {most} taken")
            edits = tuple(to_edit(edit, minibatch.ids) for edit in proposed[:most])
            if edits:
                source: Source = "successes" if minibatch.solved else "failures"
                patches.append(Patch(source, edits, tuple(sorted(minibatch.ids))))
        failures = [a.reply.patterns for m, a in zip(cut, answers, strict=True) if a.reply and not m.solved]
        return Reflection(
            patches=tuple(patches),
            patterns=unite_patterns(failures),
            errors=tuple(answer.error for answer in answers if answer.error),
            notes=tuple(notes),
            asked=len(cut),
            usage=sum((answer.usage for answer in answers), Usage()),
        )

    def _place(self, minibatch: Minibatch) -> str:
        return f"{self.step}/reflect/{minibatch.place}"
