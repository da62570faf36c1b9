"""Numbers as people write them: thousands separators, parentheses for negatives, percent, scale words, units.

`find_quantities` reads every number of a text; `same_quantity` says whether two mean the same. A unit or scale that
only one side states is compatible; two that are both stated must agree ("5 million" is not "5 billion").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE_SHORT = {"k": 1e3, "K": 1e3, "mn": 1e6, "mm": 1e6, "M": 1e6, "bn": 1e9, "B": 1e9, "tn": 1e12, "T": 1e12}
_UNIT_WORDS = {
    "dollar": ("$", "us$", "usd", "dollar", "dollars"),
    "euro": ("€", "eur", "euro", "euros"),
    "pound sterling": ("£", "gbp"),
    "yen": ("¥", "jpy", "yen"),
    "kilogram": ("kg", "kilogram", "kilograms"),
    "gram": ("g", "gram", "grams"),
    "tonne": ("tonne", "tonnes", "ton", "tons"),
    "pound": ("lb", "lbs", "pound", "pounds"),
    "kilometre": ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
    "metre": ("m", "metre", "metres", "meter", "meters"),
    "centimetre": ("cm", "centimetre", "centimetres", "centimeter", "centimeters"),
    "mile": ("mi", "mile", "miles"),
    "foot": ("ft", "foot", "feet"),
    "second": ("s", "sec", "second", "seconds"),
    "minute": ("min", "minute", "minutes"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "day": ("day", "days"),
    "month": ("month", "months"),
    "year": ("yr", "year", "years"),
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words}

_NUMBER = re.compile(
    r"""
    (?P<open>\()?\s{0,2}
    (?:(?<![\w.)])(?P<sign>[-+\u2212]))?\s?
    (?P<currency>US\$|[$€£¥])?\s?
    (?:(?<![\w.)])(?P<inner>[-\u2212]))?
    (?<![\w.])(?<!\d,)(?<![A-Za-z]-)
    (?P<digits>(?>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3})?)
    (?!\d|_|\.\d|,\d|st\b|nd\b|rd\b|th\b)
    (?:\s?(?P<percent>%|per\s?cent\b))?
    (?:(?:\s|-)?(?P<scale>thousand|million|billion|trillion)s?\b|(?P<short>mn|mm|bn|tn|[kKMBT])\b)?
    (?:\s?(?P<unit>[A-Za-z$€£¥]{1,12})\b)?
    (?P<close>\s?\))?
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Quantity:
    """One number of a text."""

    raw: float
    """As written, sign included, before any scale word."""
    text: str
    scale: float | None = None
    percent: bool = False
    unit: str | None = None
    """A known unit's canonical name."""
    plain_integer: bool = False
    """Digits and nothing else: it may be a year."""

    @property
    def full(self) -> float:
        """With the scale word applied."""
        return self.raw * (self.scale or 1.0)

    @property
    def like_year(self) -> bool:
        """A bare integer from 1900 to 2100."""
        return self.plain_integer and 1900 <= self.raw <= 2100


def scale_of(word: str) -> float | None:
    """1e6 for "million" or "millions"; None for a word that is no scale."""
    return _SCALES.get(word.lower().removesuffix("s"))


def unit_of(word: str) -> str | None:
    """The canonical name of a known unit."""
    return _UNITS.get(word.lower())


def find_quantities(text: str) -> list[Quantity]:
    """Every number in a text, in order; numbers that are part of a word (Q3, COVID-19, 2nd) are none."""
    return [_quantity(match) for match in _NUMBER.finditer(text)]


def _quantity(match: re.Match[str]) -> Quantity:
    digits = match["digits"].replace(",", "")
    worded = match["scale"] or match["short"] or match["unit"]
    wrapped = bool(match["open"] and match["close"] and not worded)
    negative = wrapped or match["sign"] in ("-", "\u2212") or bool(match["inner"])
    scale = _SCALES.get((match["scale"] or "").lower()) or _SCALE_SHORT.get(match["short"] or "")
    unit = unit_of(match["currency"] or "") or unit_of(match["unit"] or "")
    bare = digits.isdigit() and "," not in match["digits"]
    return Quantity(
        raw=-float(digits) if negative else float(digits),
        text=match[0].strip(),
        scale=scale,
        percent=bool(match["percent"]),
        unit=unit,
        plain_integer=bare and not (negative or scale or unit or match["percent"]),
    )


def close(gold: float, given: float, relative: float, absolute: float) -> bool:
    """Within either tolerance of the gold; a hair (1e-9) is always allowed for binary fractions."""
    return abs(gold - given) <= max(abs(gold) * max(relative, 1e-9), absolute)


def same_quantity(gold: Quantity, given: Quantity, *, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Whether the given quantity means the gold one. 12 % is 12, never 0.12, and never 12 kg."""
    if gold.unit and given.unit and gold.unit != given.unit:
        return False
    if (gold.percent and given.unit) or (given.percent and gold.unit):
        return False
    if gold.scale and given.scale:
        return close(gold.full, given.full, relative, absolute * gold.scale)
    if close(gold.raw, given.raw, relative, absolute):
        return True
    return bool(gold.scale or given.scale) and close(gold.full, given.full, relative, absolute * (gold.scale or 1.0))
