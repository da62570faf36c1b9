"""Attempts as the optimizer is shown them: what was asked, what was done and how it was judged, within a budget.

Invariants: nothing that holds gold (`Task.answer`, `score_detail`) is in it, and every text passes the firewall and the
redaction of secrets, whole, before it is shortened. The budget in tokens is for all attempts of one question together:
what short ones leave goes to the long ones, and each is shortened as what it is, a trace with both its ends and every
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from daemon.optimizer.prompts.render import shorten
from daemon.redaction import redact
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import Task
from harnesses.traces.summary import condensed, final_answer_of
from harnesses.traces.tokens import shares, tokens

TRACE_TOKENS = 24_000
"""Of all attempts that one reflection is shown, by estimate."""
Speaker = Literal["scorer", "agent"]
"""Whose words a text is: a scorer has seen the gold, an agent has not."""

_PROMPT_CHARS = 2_000
_FEEDBACK_CHARS = 1_500
_ANSWER_CHARS = 1_000
_NOTE_CHARS = 40
"""That something was left out is a text, too."""


class Outgoing(Protocol):
    """Passes a text about an attempt on a task on its way to the optimizer: the firewall's place."""

    def __call__(self, text: str, task: Task, speaker: Speaker = "scorer") -> str:
        """The text without what the optimizer must not see."""


def unchanged(text: str, task: Task, speaker: Speaker = "scorer") -> str:
    """No firewall."""
    return text


@dataclass(frozen=True)
class _Parts:
    """An attempt's texts, past the firewall; all but the summary within their own bounds."""

    prompt: str
    feedback: str
    summary: str
    final_answer: str
    """Empty where the summary has it."""

    @classmethod
    def of(cls, result: TaskResult, skill: str, outgoing: Outgoing) -> _Parts:
        """Every text on its way out."""
        record, task = result.record, result.task
        answer = record.final_answer.strip()
        known = final_answer_of(record.summary) is not None or answer in record.summary
        return cls(
            prompt=shorten(redact(outgoing(task.prompt, task, "agent")), _PROMPT_CHARS),
            feedback=shorten(redact(outgoing(record.feedback, task, "scorer")), _FEEDBACK_CHARS),
            summary=condensed(redact(outgoing(record.summary, task, "agent")), _whole(record.summary), skill=skill),
            final_answer="" if known else shorten(redact(outgoing(answer, task, "agent")), _ANSWER_CHARS),
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """In tokens."""
        return tuple(tokens(text) for text in (self.prompt, self.feedback, self.final_answer, self.summary))

    def within(self, budget: int) -> _Parts:
        """The same in about `budget` tokens: short parts stay whole; the summary gets two thirds, if it needs them."""
        *others, story = self.sizes
        prompt, feedback, answer = shares(others, max(budget // 3, budget - story))
        summary = min(story, budget - prompt - feedback - answer)
        return _Parts(
            prompt=_cut(self.prompt, prompt),
            feedback=_cut(self.feedback, feedback),
            summary=condensed(self.summary, summary).rstrip(),
            final_answer=_cut(self.final_answer, answer),
        )


def shown(
    results: Sequence[TaskResult], budget: int, *, skill: str = "", outgoing: Outgoing = unchanged
) -> list[dict[str, Any]]:
    """The attempts, in order, for a prompt: together about `budget` tokens. `skill` is SKILL.md, shown beside them."""
    whole = [_Parts.of(result, skill, outgoing) for result in results]
    given = shares([sum(parts.sizes) for parts in whole], budget)
    return [_row(result, parts.within(share)) for result, parts, share in zip(results, whole, given, strict=True)]


def _row(result: TaskResult, parts: _Parts) -> dict[str, Any]:
    return {
        "task": result.task_id,
        "verdict": "solved" if result.solved else "failed",
        "score": result.score,
        "prompt": parts.prompt,
        "feedback": parts.feedback,
        "skill_unread": not result.record.skill_opened,
        "summary": parts.summary,
        "final_answer": parts.final_answer,
    }


def _whole(summary: str) -> int:
    """A budget that a summary fits into as it is."""
    return tokens(summary) + 400


def _cut(text: str, budget: int) -> str:
    cost = tokens(text)
    return text if cost <= budget else shorten(text, max(20, len(text) * budget // cost - _NOTE_CHARS))
