"""`anls`: average normalised Levenshtein similarity, the DocVQA rule.

Both sides in lower case with spaces squeezed, punctuation kept; 1 minus the edit distance over the longer length, and 0
from `threshold` on (a distance of exactly one half is 0, as in the original rule); the best accepted answer counts.
Source: Biten et al. 2019, "Scene Text Visual Question Answering", and the DocVQA task's evaluation.
"""

from __future__ import annotations

from pydantic import Field

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.scorers.text import accepted_answers
from daemon.tasks.task import Score, Task


class AnlsOptions(ExtractOptions):
    """Options of `anls`."""

    threshold: float = Field(default=0.5, gt=0, le=1, allow_inf_nan=False)
    """From this share of different characters on the answer scores 0."""
    pass_at: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    """The task counts as solved from this similarity on."""


def similarity(predicted: str, gold: str, threshold: float = 0.5) -> float:
    """1 minus the normalised edit distance, 0..1; 0 from the threshold on."""
    ours, theirs = (" ".join(text.lower().split()) for text in (predicted, gold))
    longest = max(len(ours), len(theirs))
    if not longest:
        return 1.0
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - large, and few tasks are scored so

    distance = Levenshtein.distance(ours, theirs) / longest
    return 1.0 - distance if distance < threshold else 0.0


class AnlsScorer:
    """The best similarity to an accepted answer."""

    def __init__(self, options: AnlsOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer."""
        golds = accepted_answers(task.answer)
        answer = await extract_answer(result.final_answer, self._options)
        value = max(similarity(answer, gold, self._options.threshold) for gold in golds) if answer else 0.0
        hard = value >= self._options.pass_at
        return Score(
            value=value,
            hard=hard,
            feedback="" if hard else _feedback(answer, value),
            detail={"predicted": answer[:500], "accepted": list(golds)},
        )


def _feedback(answer: str, value: float) -> str:
    if not answer:
        return "no answer was given"
    return "nearly right: copy the text exactly as it stands" if value > 0 else "wrong answer"


def _check(task: Task, options: AnlsOptions) -> None:
    accepted_answers(task.answer)


def _build(options: AnlsOptions, context: Context) -> Scorer:
    return AnlsScorer(options)


ANLS = ScorerKind("anls", 1, AnlsOptions, _check, _build)
