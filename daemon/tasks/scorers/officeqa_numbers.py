"""Numbers and words of OfficeQA answers, as its reward function reads them.

Follows databricks/officeqa reward.py @7b9a3c1 (Apache-2.0) rule by rule, so that scores can be compared with published
ones; where it tries every way to cut a list at its commas, this asks only whether one of them fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

Number = tuple[float, str]
"""A value, and the text around it in lower case (20 characters to each side): where its unit stands."""

_CURRENCY = r"$£€¥₹¢₩₽"
_BODY = r"\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?"
_ACCOUNTING = re.compile(rf"\(\s*([{_CURRENCY}])?\s*({_BODY})\s*\)")
_THOUSANDS = re.compile(r"(?<![\d.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)")
_NUMBER = re.compile(r"-?\d+\.?\d*%?")
_ITEM = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?%?")
_LIST = re.compile(r"\[([^\[\]]+)\]")
_UNITS = (
    ("trillion", re.compile(r"\btrillions?\b")),
    ("billion", re.compile(r"\bbillions?\b|\bb\b")),
    ("million", re.compile(r"\bmillions?\b|\bm\b")),
    ("thousand", re.compile(r"\bthousands?\b|\bk\b")),
)
_UNIT_WORDS = re.compile(r"\b(?:(?:tr|b|m)illions?|thousands?|hundreds?|percent|percentage)\b")
AROUND = 20


def squeezed(text: str) -> str:
    """One kind of minus, one space at a time."""
    return re.sub(r"\s+", " ", text.replace("\u2212", "-")).strip()


def _plain(text: str) -> str:
    """Without currency signs; `(5.2)` is -5.2, but `(1940)` is a year."""

    def negative(match: re.Match[str]) -> str:
        year = match[1] is None and is_year(float(match[2].replace(",", "")))
        return match[0] if year else f"-{match[2]}"

    return re.sub(rf"[{_CURRENCY}]", "", _ACCOUNTING.sub(negative, text))


def numbers_in(text: str) -> list[Number]:
    """Every number of a text."""
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), _plain(squeezed(text)))
    return [
        (float(match[0].rstrip("%")), text[max(0, match.start() - AROUND) : match.end() + AROUND].lower())
        for match in _NUMBER.finditer(text)
    ]


def is_year(value: float) -> bool:
    """A whole number from 1900 to 2100."""
    return 1900 <= value <= 2100 and value.is_integer()


def unit_of(context: str) -> str | None:
    """The unit word around a number."""
    return next((name for name, pattern in _UNITS if pattern.search(context)), None)


def same(gold: Number, given: Number, tolerance: float) -> bool:
    """Close enough relative to the gold, and no units that contradict; a unit that is missing fits any."""
    units = unit_of(gold[1]), unit_of(given[1])
    if None not in units and units[0] != units[1]:
        return False
    return close(gold[0], given[0], tolerance)


def close(gold: float, given: float, tolerance: float) -> bool:
    """Within the tolerance relative to the gold; a gold of 0 must be met exactly."""
    return given == 0 if gold == 0 else abs(gold - given) / abs(gold) <= tolerance


def words(text: str) -> str:
    """What is left of a text besides numbers, unit words and punctuation; empty if that is a single letter."""
    left = re.sub(r",", "", re.sub(r"-?\d+\.?\d*%?", "", squeezed(text).lower()))
    left = squeezed(re.sub(r"[^\w\s]", " ", _UNIT_WORDS.sub("", left)))
    return left if len(left) >= 2 else ""


def words_overlap(gold: str, given: str) -> bool:
    """The gold's words are in the answer's, or the other way round; a gold without words asks for none."""
    wanted, found = words(gold), words(given)
    return not wanted or (bool(found) and (wanted in found or found in wanted))


def list_body(text: str) -> str | None:
    """What stands in the one bracketed list of a text that has no digits outside it."""
    text = squeezed(text)
    found = list(_LIST.finditer(text))
    if len(found) != 1 or re.search(r"\d", text[: found[0].start()] + text[found[0].end() :]):
        return None
    return found[0][1]


def list_fits(text: str, wanted: Sequence[Callable[[float], bool]]) -> bool:
    """Whether a list can be cut at its commas into as many numbers as are wanted, each as it is wanted.

    "8,152,260" is 8 and 152,260 as well as 8,152 and 260, if the gold is a list of two.
    """
    body = list_body(text) or squeezed(text)
    commas = [match.start() for match in re.finditer(",", body)]
    starts, ends = [0, *(at + 1 for at in commas)], [*commas, len(body)]

    @cache
    def fits(chunk: int, item: int) -> bool:
        if item == len(wanted):
            return chunk == len(starts)
        for last in range(chunk, len(starts)):
            value = _item(body[starts[chunk] : ends[last]])
            if value is not None and wanted[item](value) and fits(last + 1, item + 1):
                return True
        return False

    return len(wanted) >= 2 and len(starts) >= len(wanted) and fits(0, 0)


def _item(text: str) -> float | None:
    item = text.strip()
    if not item or ("," in item and re.search(r"\s,|,\s", item)):
        return None
    item = _plain(squeezed(item))
    return float(item.rstrip("%").replace(",", "")) if _ITEM.fullmatch(item) else None
