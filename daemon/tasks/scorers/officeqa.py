"""`officeqa`: the OfficeQA reward: the direct answer, number by number, with its units and words.

Follows databricks/officeqa reward.py @7b9a3c1 (Apache-2.0). `numeric` is the kinder scorer for tasks of your own: it
takes a sentence around the number, and knows that 543000000 is 543 million.
"""

from __future__ import annotations

import re
from functools import partial
from operator import eq

from pydantic import Field

from daemon.tasks.scorers.extract import MAX_CHARS
from daemon.tasks.scorers.officeqa_numbers import (
    Number,
    close,
    is_year,
    list_body,
    list_fits,
    numbers_in,
    same,
    words,
    words_overlap,
)
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind
from daemon.tasks.scorers.text import accepted_answers
from daemon.tasks.task import Score, Task

LONGEST = 250
"""Characters of a direct answer."""
_OPEN, _CLOSE = "<final_answer>", "</final_answer>"
_MARKUP = re.compile(r"<[^>]*>")
_NOTE = re.compile(r"\([^)]*\)")


class OfficeQaOptions(Options):
    """Options of `officeqa`."""

    tolerance: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """Relative to the gold's number."""


def final_answer(message: str) -> str:
    """What stands in the last `<FINAL_ANSWER>` of a message; the message itself if there is none."""
    lower = message.lower()
    if len(lower) != len(message):
        lower = message
    found, at = None, lower.find(_OPEN)
    while at >= 0 and (end := lower.find(_CLOSE, at)) >= 0:
        found = message[at + len(_OPEN) : end].strip()
        at = lower.find(_OPEN, end)
    return message if found is None else found


def wrong(gold: str, answer: str, tolerance: float = 0.0) -> str:
    """Empty if the answer is right, else what is wrong with it."""
    answer = answer.strip()
    if not answer:
        return "no answer was given"
    if len([line for line in answer.splitlines() if line.strip()]) > 1 or len(answer) > LONGEST:
        return "no direct answer: give it alone, on one short line"
    wanted, given = numbers_in(gold), numbers_in(answer)
    if not wanted:
        return _wrong_text(gold, answer, given)
    listed = _is_list(gold, wanted)
    return _indirect(gold, answer, wanted, given, listed=listed) or _wrong_numbers(
        gold, answer, wanted, given, listed=listed, tolerance=tolerance
    )


def _wrong_text(gold: str, answer: str, given: list[Number]) -> str:
    if given:
        return "a number where a text was asked for"
    return "" if _bare(gold) == _bare(answer) else "wrong text"


def _indirect(gold: str, answer: str, wanted: list[Number], given: list[Number], *, listed: bool) -> str:
    """Why the answer is no direct one; empty if it is."""
    counted = _without_years(gold, wanted, given)
    if len(counted) != len(wanted) and not (listed and list_fits(answer, [lambda _: True] * len(wanted))):
        return "not as many numbers as were asked for"
    if _MARKUP.search(answer):
        return "no direct answer: leave out the markup"
    return "no answer was given" if "unable to determine" in answer.lower() else ""


def _wrong_numbers(
    gold: str, answer: str, wanted: list[Number], given: list[Number], *, listed: bool, tolerance: float
) -> str:
    if not given:
        return "" if _bare(gold) in _bare(answer) else "no number in the answer"
    if listed:
        cut = list_fits(answer, [partial(close, one[0], tolerance=tolerance) for one in wanted])
        counted = _without_years(gold, wanted, given)
        ordered = len(counted) == len(wanted) and all(map(lambda a, b: same(a, b, tolerance), wanted, counted))
        return "" if cut or ordered else "a wrong number in the list, or a wrong order"
    if len(wanted) > 1:
        years = any(is_year(value) for value, _ in wanted)
        pool = [one for one in given if years or not is_year(one[0])]
    else:
        pool = _without_years(gold, wanted, given)
    if not all(any(same(one, other, tolerance) for other in pool) for one in wanted):
        return "wrong number: check the sign, the scale and the unit"
    return "" if words_overlap(gold, answer) else "right number, wrong words"


def _without_years(gold: str, wanted: list[Number], given: list[Number]) -> list[Number]:
    """The answer's numbers; years among them do not count, unless the gold has one, or is one number with words."""
    if any(is_year(value) for value, _ in wanted) or (len(wanted) == 1 and words(gold)):
        return given
    return [one for one in given if not is_year(one[0])]


def _is_list(gold: str, wanted: list[Number]) -> bool:
    """The gold is a bracketed list of two numbers or more, and reads as such."""
    return list_body(gold) is not None and list_fits(gold, [partial(eq, one[0]) for one in wanted])


def _bare(text: str) -> str:
    text = _NOTE.sub("", text.strip().lower().strip('"').strip("'"))
    return re.sub(r"\s+", " ", text).strip()


class OfficeQaScorer:
    """1 if the answer is right, else 0."""

    def __init__(self, options: OfficeQaOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer; of several accepted ones, any will do."""
        golds = accepted_answers(task.answer)
        answer = final_answer(result.final_answer[-MAX_CHARS:])
        faults = [wrong(gold, answer, self._options.tolerance) for gold in golds]
        hard = "" in faults
        detail = {"predicted": answer[:500], "accepted": list(golds)}
        return Score(value=float(hard), hard=hard, feedback="" if hard else faults[0], detail=detail)


def _check(task: Task, options: OfficeQaOptions) -> None:
    accepted_answers(task.answer)


def _build(options: OfficeQaOptions, context: Context) -> Scorer:
    return OfficeQaScorer(options)


OFFICEQA = ScorerKind("officeqa", 1, OfficeQaOptions, _check, _build)
