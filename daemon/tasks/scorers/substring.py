"""`substring`: an accepted text occurs in the answer, after SQuAD normalisation.

An empty answer holds nothing, and a gold that normalises to nothing ("The") is looked for in lower case.
"""

from __future__ import annotations

from typing import Literal

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.scorers.text import accepted_answers, squad_normalise
from daemon.tasks.task import Score, Task


class SubstringOptions(ExtractOptions):
    """Options of `substring`."""

    fallback: Literal["all", "last_line"] = "all"
    whole_words: bool = False
    """True: "art" does not occur in "party"."""


def holds(text: str, gold: str, *, whole_words: bool = False) -> bool:
    """Whether the gold occurs in the text, both normalised."""
    needle, haystack = squad_normalise(gold), squad_normalise(text)
    if not needle:
        needle, haystack = " ".join(gold.lower().split()), " ".join(text.lower().split())
    return f" {needle} " in f" {haystack} " if whole_words else needle in haystack


class SubstringScorer:
    """1 if an accepted text occurs, else 0."""

    def __init__(self, options: SubstringOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer."""
        golds = accepted_answers(task.answer)
        answer = await extract_answer(result.final_answer, self._options)
        hard = any(holds(answer, gold, whole_words=self._options.whole_words) for gold in golds)
        return Score(
            value=float(hard),
            hard=hard,
            feedback="" if hard else _feedback(answer),
            detail={"predicted": answer[:500], "accepted": list(golds)},
        )


def _feedback(answer: str) -> str:
    return "the answer does not name what was asked for" if answer else "no answer was given"


def _check(task: Task, options: SubstringOptions) -> None:
    accepted_answers(task.answer)


def _build(options: SubstringOptions, context: Context) -> Scorer:
    return SubstringScorer(options)


SUBSTRING = ScorerKind("substring", 1, SubstringOptions, _check, _build)
