r"""Sums as mathematics writes them: `\frac{7}{2} - 3 \cdot 2^{4}`, worked out exactly. It knows no more."""

from __future__ import annotations

import re
from fractions import Fraction

_MATHS = re.compile(r"\$([^$]{1,200})\$")
_TOKEN = re.compile(r"\s*(?:(\d{1,12})|(\\frac|\\cdot|\\times|[-+*/^(){}]))")
_MOST_POWER = 64


class _NoSumError(Exception):
    """The text is no sum."""


def value_of(prompt: str) -> str:
    """The value of the last sum in a prompt, as an integer or fraction; empty if there is none."""
    for text in reversed(_MATHS.findall(prompt)):
        try:
            value = _Sum(text).whole()
        except (_NoSumError, ZeroDivisionError):
            continue
        return str(value.numerator) if value.denominator == 1 else f"\\frac{{{value.numerator}}}{{{value.denominator}}}"
    return ""


class _Sum:
    """A recursive reader: sum, product, power, part."""

    def __init__(self, text: str) -> None:
        self._signs: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise _NoSumError
            self._signs.append(found[1] or found[2])
            at = found.end()

    def whole(self) -> Fraction:
        value = self._sum()
        if self._signs:
            raise _NoSumError
        return value

    def _take(self, *wanted: str) -> str:
        if not self._signs or (wanted and self._signs[0] not in wanted):
            raise _NoSumError
        return self._signs.pop(0)

    def _next(self, *wanted: str) -> bool:
        return bool(self._signs) and self._signs[0] in wanted

    def _sum(self) -> Fraction:
        value = self._product()
        while self._next("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _product(self) -> Fraction:
        value = self._power()
        while self._next("\\cdot", "\\times", "*", "/"):
            value = value / self._power() if self._take() == "/" else value * self._power()
        return value

    def _power(self) -> Fraction:
        value = self._part()
        if not self._next("^"):
            return value
        self._take()
        power = self._part()
        if power.denominator != 1 or abs(power) > _MOST_POWER:
            raise _NoSumError
        return Fraction(value) ** int(power)

    def _part(self) -> Fraction:
        sign = self._take()
        if sign.isdigit():
            return Fraction(int(sign))
        if sign == "-":
            return -self._part()
        if sign == "\\frac":
            return self._inside("{", "}") / self._inside("{", "}")
        if sign in "({":
            value = self._sum()
            self._take(")" if sign == "(" else "}")
            return value
        raise _NoSumError

    def _inside(self, opening: str, closing: str) -> Fraction:
        self._take(opening)
        value = self._sum()
        self._take(closing)
        return value
