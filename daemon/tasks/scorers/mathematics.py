"""`math_equal`: the answer is mathematically equal to an accepted one.

Two rules: `math_verify` (the library of that name, in the extra `honed[math]`), and `olympiad` (the OlympiadBench
judge). Both run in the bounded process. An answer that takes them more than a second, or all their memory, is wrong, as
it is for the official scorers; a gold that they cannot read makes the attempt invalid.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import Field

from daemon.tasks.scorers.bounded import CPU_S, MATH
from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.olympiad import final_part, preprocessed, split_answer
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind, VerifierError
from daemon.tasks.scorers.text import accepted_answers
from daemon.tasks.task import Score, Task

GOLD_CPU_S = 10.0
"""Processor time for reading the gold."""
MISSING = "needs further packages: pip install 'honed[math]'"

Precision = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class MathOptions(ExtractOptions):
    """Options of `math_equal`."""

    fallback: Literal["all", "last_line"] = "all"
    rule: Literal["math_verify", "olympiad"] = "math_verify"
    precision: tuple[Precision, ...] = Field(default=(1e-8,), min_length=1, max_length=100, strict=False)
    """Of `olympiad`: how far numbers may lie apart; one for all pieces of the answer, or one for each."""


class MathScorer:
    """1 if the answer is equal, else 0."""

    def __init__(self, options: MathOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer; raises `VerifierError` if the gold cannot be read, or the extra is not installed."""
        golds = accepted_answers(task.answer)
        answer = await extract_answer(final_part(result.final_answer), self._options)
        if not answer:
            return Score(value=0.0, hard=False, feedback="no answer was given")
        reply = await MATH.ask(
            self._options.rule,
            GOLD_CPU_S,
            golds=golds,
            answer=answer,
            answer_cpu_s=CPU_S,
            precision=list(self._options.precision),
        )
        detail = {"predicted": answer[-500:], "accepted": list(golds), "rule": self._options.rule}
        if reply.death and reply.said:
            why = "the answer could not be compared within bounds: give it in a simpler form"
            return Score(value=0.0, hard=False, feedback=why, detail={**detail, "ended": reply.death})
        said = reply.result
        if "unread" in said:
            msg = f"task {task.id}: answer: {said['unread'][:80]!r} cannot be read as mathematics: mend it"
            raise VerifierError(msg)
        hard = bool(said["equal"])
        return Score(value=float(hard), hard=hard, feedback="" if hard else _feedback(said), detail=detail)


def _feedback(said: object) -> str:
    unread = isinstance(said, dict) and said.get("readable") is False
    return "the answer could not be read as mathematics" if unread else "not equal to the expected answer"


def _check(task: Task, options: MathOptions) -> None:
    if find_spec("math_verify") is None:
        msg = f"scorer: math_equal {MISSING}"
        raise ValueError(msg)
    golds = accepted_answers(task.answer)
    if options.rule == "olympiad":
        for gold in golds:
            pieces = len(split_answer(preprocessed(gold)))
            if len(options.precision) not in (1, pieces):
                msg = (
                    f"scorer.precision: has {len(options.precision)} numbers for {pieces} pieces: give one, or as many"
                )
                raise ValueError(msg)


def _build(options: MathOptions, context: Context) -> Scorer:
    return MathScorer(options)


MATH_EQUAL = ScorerKind("math_equal", 1, MathOptions, _check, _build)
