"""`numeric`: the answer is one number, with or without unit, within a tolerance.

A hedge ("5 or 6") is wrong: every number the answer states, apart from years, must mean the gold one. Follows the
OfficeQA reward in spirit; it differs in that a number written out in full meets its scaled form (543000000 = 543
million) and in taking a short sentence around the number.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, field_validator

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.quantity import Quantity, find_quantities, same_quantity, scale_of, unit_of
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.task import Score, Task


class NumericOptions(ExtractOptions):
    """Options of `numeric`."""

    tolerance: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """Relative to the gold."""
    abs_tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """In the gold's own unit and scale."""
    unit: str | None = None
    """What a bare gold number counts: a scale word (`million`), `percent` or a known unit (`kg`)."""
    fallback: Literal["all", "last_line"] = "all"

    @field_validator("unit")
    @classmethod
    def _known(cls, unit: str | None) -> str | None:
        if unit is not None and unit not in ("percent", "%") and scale_of(unit) is None and unit_of(unit) is None:
            msg = "is not known: use thousand, million, billion, trillion, percent or a unit such as kg, km, hours"
            raise ValueError(msg)
        return unit


def gold_quantities(answer: Any, unit: str | None) -> tuple[Quantity, ...]:
    """The accepted quantities; raises `ValueError` if an accepted answer is not one number with at most a unit."""
    listed = answer if isinstance(answer, list | tuple) else [answer]
    if not listed:
        msg = "answer: the list is empty: give at least one number"
        raise ValueError(msg)
    return tuple(_gold(item, unit) for item in listed)


def _gold(item: Any, unit: str | None) -> Quantity:
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        msg = "answer: give a number, a text such as '36080 million', or a list of them"
        raise ValueError(msg)
    text = item if isinstance(item, str) else repr(item)
    found = find_quantities(text)
    if len(found) != 1 or not math.isfinite(found[0].full):
        msg = f"answer: {text[:60]!r} does not hold exactly one finite number: use exact_match or token_f1"
        raise ValueError(msg)
    if re.match(r"\s*[A-Za-z]", text) and not text.lstrip().startswith("US$"):
        msg = f"answer: {text[:60]!r} starts with words: use exact_match or token_f1"
        raise ValueError(msg)
    return _with_unit(found[0], unit)


def _with_unit(gold: Quantity, unit: str | None) -> Quantity:
    if unit is None:
        return gold
    if unit in ("percent", "%"):
        return replace(gold, percent=True, plain_integer=False)
    scale = scale_of(unit)
    if scale is not None:
        return replace(gold, scale=gold.scale or scale, plain_integer=False)
    return replace(gold, unit=gold.unit or unit_of(unit), plain_integer=False)


def stated(text: str, golds: tuple[Quantity, ...]) -> list[Quantity]:
    """The numbers an answer states: years do not count beside others, unless a gold is itself like a year."""
    found = find_quantities(text)
    if any(gold.like_year for gold in golds):
        return found
    return [quantity for quantity in found if not quantity.like_year] or found


def _feedback(given: list[Quantity], golds: tuple[Quantity, ...]) -> str:
    if not given:
        return "no number in the answer"
    if len({quantity.full for quantity in given}) > 1:
        return "the answer states several different numbers: give the one that was asked for"
    digits = {f"{abs(quantity.raw):.8e}"[:10].rstrip("0") for quantity in given}
    if digits & {f"{abs(gold.raw):.8e}"[:10].rstrip("0") for gold in golds}:
        return "wrong number: check the sign, the scale and the unit"
    return "wrong number"


class NumericScorer:
    """1 if the answer's number means an accepted one, else 0."""

    def __init__(self, options: NumericOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer."""
        options = self._options
        golds = gold_quantities(task.answer, options.unit)
        text = await extract_answer(result.final_answer, options)
        given = stated(text, golds)
        hard = bool(given) and any(
            all(same_quantity(gold, one, relative=options.tolerance, absolute=options.abs_tolerance) for one in given)
            for gold in golds
        )
        return Score(
            value=float(hard),
            hard=hard,
            feedback="" if hard else _feedback(given, golds),
            detail={"given": [one.text for one in given][:20], "accepted": [gold.text for gold in golds]},
        )


def _check(task: Task, options: NumericOptions) -> None:
    gold_quantities(task.answer, options.unit)


def _build(options: NumericOptions, context: Context) -> Scorer:
    return NumericScorer(options)


NUMERIC = ScorerKind("numeric", 3, NumericOptions, _check, _build)
