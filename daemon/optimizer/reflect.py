"""Reflection: minibatches of failures and of successes, all at once, their patches in the minibatches' order.

The optimizer sees what train attempts did and rubric-level feedback; `Task.answer` and `score_detail` never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daemon.optimizer.asking import Answer, Optimizer
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.prompts.render import render, shorten
from daemon.optimizer.proposals import Patch, Source, to_edit, unite_patterns
from daemon.optimizer.replies import Pattern, ReflectReply
from daemon.rollouts.parallel import ordered
from daemon.rollouts.result import TaskResult
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill

_PROMPT_CHARS = 2_000
_FEEDBACK_CHARS = 1_500
_SUMMARY_CHARS = 8_000
_ANSWER_CHARS = 1_000


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
    budget: int
    step: int

    async def reflect(self, cut: Sequence[Minibatch]) -> Reflection:
        """Ask for a patch from every minibatch, all at once."""
        answers = await ordered(self._ask(minibatch, self._place(i)) for i, minibatch in enumerate(cut))
        patches: list[Patch] = []
        notes: list[str] = []
        for ordinal, (minibatch, answer) in enumerate(zip(cut, answers, strict=True)):
            proposed = answer.reply.edits if answer.reply else []
            if len(proposed) > self.budget:
                notes.append(f"{self._place(ordinal)}: {len(proposed)} edits proposed, the first {self.budget} taken")
            edits = tuple(to_edit(edit, minibatch.ids) for edit in proposed[: self.budget])
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

    async def _ask(self, minibatch: Minibatch, place: str) -> Answer[ReflectReply]:
        role = "reflect_successes" if minibatch.solved else "reflect_failures"
        user = render(
            "reflect.user.j2",
            skill=self.skill.text,
            budget=self.budget,
            earlier=self.buffer.entries,
            attempts=[shown(result) for result in minibatch.results],
        )
        return await self.optimizer.ask(place, role, ReflectReply, system=render(f"{role}.system.j2"), user=user)

    def _place(self, ordinal: int) -> str:
        return f"{self.step}/reflect/{ordinal}"


def shown(result: TaskResult) -> dict[str, Any]:
    """An attempt as the optimizer sees it: shortened, both ends kept, nothing that holds gold."""
    record = result.record
    answer = "" if record.final_answer.strip() in record.summary else record.final_answer.strip()
    return {
        "task": result.task_id,
        "verdict": "solved" if result.solved else "failed",
        "score": result.score,
        "prompt": shorten(result.task.prompt, _PROMPT_CHARS),
        "feedback": shorten(record.feedback, _FEEDBACK_CHARS),
        "skill_unread": not record.skill_opened,
        "summary": shorten(record.summary, _SUMMARY_CHARS),
        "final_answer": shorten(answer, _ANSWER_CHARS),
    }
