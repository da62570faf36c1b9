"""`exact_match` and `token_f1`: the SQuAD / MRQA rules for short text answers.

Normalised means: lower case, ASCII punctuation and the articles dropped, spaces squeezed. Several accepted answers:
the best one counts. An empty answer never matches. Source: the official SQuAD v1.1 and MRQA 2019 evaluation scripts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import Any

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.task import Score, Task

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def squad_normalise(text: str) -> str:
    """Text as SQuAD compares it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(predicted: str, gold: str) -> bool:
    """Equal after normalisation; a gold that normalises to nothing ("The") is compared in lower case instead."""
    if not squad_normalise(gold):
        return " ".join(predicted.lower().split()) == " ".join(gold.lower().split())
    return squad_normalise(predicted) == squad_normalise(gold)


def token_f1(predicted: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the normalised tokens, 0..1."""
    if exact(predicted, gold):
        return 1.0
    ours, theirs = squad_normalise(predicted).split(), squad_normalise(gold).split()
    common = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0


def accepted_answers(answer: Any) -> tuple[str, ...]:
    """The accepted texts of a task's answer; raises `ValueError` if there is none that can be met."""
    listed = answer if isinstance(answer, list | tuple) else [answer]
    if not listed or not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in listed):
        msg = "answer: give a text, a number or a list of them"
        raise ValueError(msg)
    texts = tuple(str(item) for item in listed)
    if not all(text.strip() for text in texts):
        msg = "answer: an accepted answer is empty, which nothing can meet"
        raise ValueError(msg)
    return texts


def _check(task: Task, options: ExtractOptions) -> None:
    accepted_answers(task.answer)


def _feedback(predicted: str, golds: tuple[str, ...], f1: float) -> str:
    if not predicted:
        return "no answer was given"
    said = squad_normalise(predicted).split()
    for gold in golds:
        words = squad_normalise(gold).split()
        if words and Counter(words) <= Counter(said):
            return "the answer says more than was asked for: give the bare answer"
    return "the answer is only partly right" if f1 > 0 else "wrong answer"


class TextScorer:
    """Both text scorers: `hard` is exact match; `value` is exact match or F1."""

    def __init__(self, options: ExtractOptions, *, soft: bool) -> None:
        self._options = options
        self._soft = soft

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer against the accepted answers."""
        golds = accepted_answers(task.answer)
        predicted = await extract_answer(result.final_answer, self._options)
        hard = bool(predicted) and any(exact(predicted, gold) for gold in golds)
        f1 = max(token_f1(predicted, gold) for gold in golds) if predicted else 0.0
        return Score(
            value=f1 if self._soft else float(hard),
            hard=hard,
            feedback="" if hard else _feedback(predicted, golds, f1),
            detail={"predicted": predicted[:500], "accepted": list(golds), "f1": f1},
        )


def _build_exact(options: ExtractOptions, context: Context) -> Scorer:
    return TextScorer(options, soft=False)


def _build_f1(options: ExtractOptions, context: Context) -> Scorer:
    return TextScorer(options, soft=True)


EXACT_MATCH = ScorerKind("exact_match", 1, ExtractOptions, _check, _build_exact)
TOKEN_F1 = ScorerKind("token_f1", 1, ExtractOptions, _check, _build_f1)
