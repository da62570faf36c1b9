"""The OlympiadBench judge, in the bounded process: sympy has no bound of its own.

Follows OpenBMB/OlympiadBench eval/auto_scoring_judge.py @ba5b26a (MIT): the same texts count as equal, its factors of
100 among them. It differs where the official code is at fault: each piece keeps its own precision, and 1.0 is 1.
"""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from daemon.tasks.scorers.olympiad import numerically_equal, preprocessed, split_answer

_MAX_EXPONENT = 1000
_CHINESE = re.compile(r"[\u4e00-\u9fff]+")
_INTERVAL = re.compile(r"[(\[].*[)\]]", re.DOTALL)


def warm() -> None:
    """Load sympy and its parser."""
    _parse_latex()


def olympiad(request: Mapping[str, Any], say: Callable[..., None]) -> Mapping[str, Any]:
    """`equal`: whether the judge takes `answer` for one of `golds` within `precision` (one number, or one a piece)."""
    say(golds=True)
    signal.setitimer(signal.ITIMER_PROF, request["answer_cpu_s"])
    return {"equal": any(judge(gold, request["answer"], request["precision"]) for gold in request["golds"])}


def judge(gold: str, answer: str, precision: list[float]) -> bool:
    """Whether the answer's pieces can be paired with the gold's, each pair being equal."""
    try:
        wanted, given = preprocessed(gold), preprocessed(answer)
    except ValueError:  # braces that do not match
        return False
    if wanted == given:
        return True
    pieces = split_answer(_CHINESE.sub("", wanted))
    others = split_answer(_CHINESE.sub("", given))
    if len(pieces) != len(others):
        return False
    each = precision * len(pieces) if len(precision) == 1 else precision
    left = list(zip(pieces, each, strict=True))
    place = -1
    while left:
        place = (place + 1) % len(left)
        piece, within = left[place]
        found = next((other for other in others if equal(piece, other, within)), None)
        if found is None:
            return False
        del left[place]
        others.remove(found)
    return True


def equal(gold: str, given: str, precision: float) -> bool:
    """Whether two pieces are equal: as texts, intervals, numbers, expressions or equations."""
    if gold == given and gold:
        return True
    if _INTERVAL.fullmatch(gold) and _INTERVAL.fullmatch(given):
        try:
            if _intervals_equal(gold, given, precision):
                return True
        except Exception:  # an end that sympy cannot read: the official code answers no
            return False
    equations = "=" in gold and "=" in given
    return (
        _holds(numerically_equal, gold, given, precision)
        or (not equations and _holds(_expressions_equal, gold, given, precision))
        or _holds(_equations_equal, gold, given)
    )


def _holds(rule: Callable[..., bool], *texts: Any) -> bool:
    """What cannot be read is not equal by this rule: sympy's parsers raise whatever they come across."""
    try:
        return rule(*texts)
    except Exception:
        return False


@lru_cache(maxsize=1)
def _parse_latex() -> Callable[[str], Any]:
    from sympy.parsing.latex import parse_latex  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    parse_latex("x")
    found: Callable[[str], Any] = parse_latex
    return found


def _intervals_equal(gold: str, given: str, precision: float) -> bool:
    if gold == given:
        return True
    wanted, others = gold.split("\\cup"), given.split("\\cup")
    return len(wanted) == len(others) and all(
        _interval_equal(left, right, precision) for left, right in zip(wanted, others, strict=True)
    )


def _interval_equal(gold: str, given: str, precision: float) -> bool:
    if gold[0] != given[0] or gold[-1] != given[-1]:
        return False
    pairs = zip(gold.strip("[]()").split(","), given.strip("[]()").split(","), strict=False)
    return all(_expressions_equal(left, right, precision) for left, right in pairs)


def _expressions_equal(gold: str, given: str, precision: float) -> bool:
    import sympy  # type: ignore[import-untyped]  # noqa: PLC0415

    left, right = (sympy.sympify(_parse_latex()(_right_side(text))) for text in (gold, given))
    if left == right:
        return True
    pi = _parse_latex()("\\pi")
    left, right = left.subs(pi, math.pi), right.subs(pi, math.pi)
    symbols = left.has(sympy.Symbol)
    if symbols != right.has(sympy.Symbol):
        return False
    if symbols:
        return bool(abs(sympy.simplify(left - right).evalf()) < 1e-3)
    if not (_computable(left) and _computable(right)):
        return False
    return bool(abs(left.evalf() - right.evalf()) <= precision * 1.01)


def _right_side(text: str) -> str:
    return (text.split("=")[1] if "=" in text else text).strip()


def _computable(expression: Any) -> bool:
    import sympy  # noqa: PLC0415

    if not isinstance(expression, sympy.Pow):
        return True
    base, exponent = expression.as_base_exp()
    return bool(base.is_number and exponent.is_number and abs(exponent.evalf()) <= _MAX_EXPONENT)


def _equations_equal(gold: str, given: str) -> bool:
    import sympy  # noqa: PLC0415

    sides = []
    for text in (gold, given):
        left, right = text.split("=")
        sides.append(sympy.simplify(_parse_latex()(left) - _parse_latex()(right)))
    quotients = (sympy.simplify(sides[0] / sides[1]), sympy.simplify(sides[1] / sides[0]))
    return any(_is_whole(quotient) for quotient in quotients)


def _is_whole(quotient: Any) -> bool:
    """A whole number but 0, decimals among them: the official code takes k = 1.0 for another equation than k = 1."""
    return bool(quotient.is_Integer or quotient.is_Float) and float(quotient).is_integer() and quotient != 0
