"""Reflection: minibatches of failures and of successes, all at once, their patches in the minibatches' order.

The optimizer sees what train attempts did and rubric-level feedback; `Task.answer` and `score_detail` never.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daemon.optimizer.asking import Answer, Optimizer
from daemon.optimizer.attempts import TRACE_TOKENS, Outgoing, shown, unchanged
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.prompts.render import render, render_prompt
from daemon.optimizer.proposals import Proposals, Source, unite_patterns
from daemon.optimizer.real_use import RealUse
from daemon.optimizer.replies import Pattern
from daemon.optimizer.skill_files import SkillFiles
from daemon.optimizer.updates.forms import EDITS, ReflectForm, for_files
from daemon.rollouts.parallel import ordered
from sandboxes.gateway.policy import Usage
from skills_repo.edits import MAX_EDITS
from skills_repo.skill import Skill

MOST_EDITS = MAX_EDITS
"""Taken from one reply where there is no edit budget: a bound on what a model may cost us, not on what it may say."""


@dataclass(frozen=True)
class Reflection:
    """What all minibatches of a step came to."""

    patches: tuple[Proposals[Any], ...]
    """Those that propose something, in order: edits, or what else the form asks for."""
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
    form: ReflectForm[Any] = EDITS
    """What the update mode asks for."""
    files: SkillFiles | None = None
    """What may be edited besides SKILL.md."""
    real_use: RealUse | None = None
    """What went wrong in people's own sessions: for reflections on failures."""

    async def reflect(self, cut: Sequence[Minibatch]) -> Reflection:
        """Ask for a patch from every minibatch, all at once."""
        answers = await ordered(self.reflect_one(minibatch) for minibatch in cut)
        return self.gather(cut, answers)

    async def reflect_one(self, minibatch: Minibatch) -> Answer[Any]:
        """Ask for a patch from one minibatch, whenever it is complete."""
        role = self.form.role(solved=minibatch.solved)
        # In a thread: a hostile agent's megabytes must not hold up the attempts that still run.
        attempts = await asyncio.to_thread(
            shown, minibatch.results, self.trace_tokens, skill=self.skill.text, outgoing=self.outgoing
        )
        user = render_prompt(
            "reflect.user.j2",
            meta_skill=self.meta_skill,
            skill=self.skill.text,
            files=self.files,
            real_use=None if minibatch.solved else self.real_use,
            budget=self.budget,
            earlier=self.buffer.told,
            attempts=attempts,
            wish=self.form.wish(self.budget),
        )
        place, schema = self._place(minibatch), for_files(self.form, self.files).schema
        system = render(f"{role}.system.j2", files=self.files)
        return await self.optimizer.ask(place, role, schema, system=system, user=user)

    def gather(self, cut: Sequence[Minibatch], answers: Sequence[Answer[Any]]) -> Reflection:
        """What the answers to these minibatches (in the same order) come to; it asks nothing."""
        most = MOST_EDITS if self.budget is None else self.budget
        patches: list[Proposals[Any]] = []
        notes: list[str] = []
        for minibatch, answer in zip(cut, answers, strict=True):
            proposed = self.form.read(answer.reply, minibatch.ids) if answer.reply else ()
            if len(proposed) > most:
                notes.append(f"{self._place(minibatch)}: {len(proposed)} edits proposed, the first {most} taken")
            if proposed:
                source: Source = "successes" if minibatch.solved else "failures"
                patches.append(Proposals(source, proposed[:most], tuple(sorted(minibatch.ids))))
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
