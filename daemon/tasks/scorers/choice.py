r"""`multiple_choice`: the answer is the label of one of the choices.

Read in this order: the whole answer as a label ("b", "(B).", "**B**", "\boxed{B}"); as the text of one choice; its
first word as a label ("B) because …", "Answer: B"). An answer that names several labels in its first words names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import Field, field_validator

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.task import Score, Task

_EDGE = " \t\r\n.,:;()[]{}*_`'\"$"
_LATEX = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s*\{([^{}]{0,200})\}")
_LEAD = re.compile(r"(?i)^[\W_]*(?:(?:the\s+)?(?:correct\s+|final\s+)?(?:answer|choice|option)(?:\s+is)?\b[\s:]*)+")
_OTHERS = re.compile(r"(?i)^\s*(?:/|,|&|\bor\b|\band\b)\s*(\S+)")

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,8}$")]


class ChoiceOptions(ExtractOptions):
    """Options of `multiple_choice`."""

    choices: dict[Label, str] = Field(min_length=2, max_length=100)
    """Label to the choice's text (which may be empty: then the label alone answers)."""

    @field_validator("choices")
    @classmethod
    def _apart(cls, choices: dict[str, str]) -> dict[str, str]:
        if len({label.casefold() for label in choices}) < len(choices):
            msg = "has two labels that differ in case alone"
            raise ValueError(msg)
        return choices


def chosen(answer: str, choices: dict[str, str]) -> str | None:
    """The label that an answer names; None if it names none, or several, or is no text but bytes read as text."""
    if _CONTROL.search(answer):
        return None
    labels = {label.casefold(): label for label in choices}
    answer = _LATEX.sub(r"\1", _LATEX.sub(r"\1", answer))
    bare = answer.strip(_EDGE)
    if bare.casefold() in labels:
        return labels[bare.casefold()]
    texts = [label for label, text in choices.items() if _plain(text) and _plain(text) == _plain(answer)]
    if texts:
        return texts[0] if len(texts) == 1 else None
    return _first_word(_LEAD.sub("", answer), labels)


def _first_word(answer: str, labels: dict[str, str]) -> str | None:
    words = re.match(r"[\W_]*([A-Za-z0-9]{1,8})(?![A-Za-z0-9])", answer)
    if words is None or words[1].casefold() not in labels:
        return None
    # "A good idea" and "i think" begin with a word that is one of the labels.
    if words[1].casefold() in ("a", "i") and re.match(r"\s+[a-z]", answer[words.end() :]):
        return None
    rest = answer[words.end() :].lstrip(_EDGE.replace(",", "")).strip()
    other = _OTHERS.match(rest)
    if other is not None and other[1].strip(_EDGE).casefold() in labels:
        return None
    return labels[words[1].casefold()]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_EDGE)


class ChoiceScorer:
    """1 if the answer names the right label, else 0."""

    def __init__(self, options: ChoiceOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer."""
        right = {label.casefold() for label in _labels(task)}
        answer = await extract_answer(result.final_answer, self._options)
        label = chosen(answer, self._options.choices)
        hard = label is not None and label.casefold() in right
        return Score(
            value=float(hard),
            hard=hard,
            feedback="" if hard else _feedback(answer, label),
            detail={"predicted": answer[:500], "chosen": label, "accepted": sorted(right)},
        )


def _feedback(answer: str, label: str | None) -> str:
    if not answer:
        return "no answer was given"
    return "the answer names no single choice: give its label alone" if label is None else "a wrong choice"


def _labels(task: Task) -> Iterable[str]:
    listed = task.answer if isinstance(task.answer, list | tuple) else [task.answer]
    return [str(label) for label in listed]


def _check(task: Task, options: ChoiceOptions) -> None:
    known = {label.casefold() for label in options.choices}
    labels = list(_labels(task))
    if not labels or any(label.casefold() not in known for label in labels):
        msg = f"answer: give the label of a choice, or a list of them: {', '.join(options.choices)}"
        raise ValueError(msg)


def _build(options: ChoiceOptions, context: Context) -> Scorer:
    return ChoiceScorer(options)


MULTIPLE_CHOICE = ScorerKind("multiple_choice", 1, ChoiceOptions, _check, _build)
