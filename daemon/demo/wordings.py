"""How the demo's tasks are worded, and what such a wording asks for.

One table serves both sides: the task set renders a `Request` into plain English, and the simulated target reads the
English back. Invariant: `read_request(render(request, n))` is `request`; a wording never names its trap.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from enum import StrEnum

OUTPUT = "output.xlsx"
"""The file name under which every demo task wants its result."""


class Kind(StrEnum):
    """What a task wants done."""

    TOTAL = "total"
    COUNT = "count"
    LOOKUP = "lookup"
    PRODUCT = "product"
    TIDY = "tidy"


@dataclass(frozen=True)
class Request:
    """One spreadsheet task, understood. Columns are letters, rows count from 1 and include both ends."""

    kind: Kind
    book: str
    sheet: str
    """The sheet to write on."""
    column: str
    """The column to write."""
    first: int
    last: int
    key: str
    """The column on the target sheet that says what each row is about (product: the first factor)."""
    noun: str = ""
    second: str = ""
    """Product: the other factor's column."""
    source: str = ""
    """The sheet with the data (total, count, lookup)."""
    source_key: str = ""
    source_value: str = ""
    formula: bool = False
    """The prompt speaks of a formula."""

    @property
    def cells(self) -> str:
        """The target range: `Report!B2:B9`."""
        return f"{self.sheet}!{self.column}{self.first}:{self.column}{self.last}"


_WORDINGS: dict[Kind, tuple[str, ...]] = {
    Kind.TOTAL: (
        'In {book}, fill {cells} with the total per {noun}: add up column {source_value} of sheet "{source}", where '
        "column {source_key} holds the {noun}. Column {key} names the {noun} of each row.",
        '{book} has a sheet "{source}" with a {noun} in column {source_key} and an amount in column {source_value}. '
        "For each {noun} in column {key}, put the sum of its amounts into {cells}.",
        'I need the amounts in column {source_value} of sheet "{source}" of {book} summed by {noun} (column '
        "{source_key}). Put each sum beside its {noun} in column {key}: the target cells are {cells}.",
    ),
    Kind.COUNT: (
        'In {book}, count the rows of sheet "{source}" for each {noun} (column {source_key} there) and write the '
        "counts to {cells}; the {noun} of each row is in column {key}.",
        'How many rows of sheet "{source}" in {book} have each {noun}? The {noun} is in column {source_key} there, '
        "and the list to answer is in column {key}. Write the numbers to {cells}.",
    ),
    Kind.LOOKUP: (
        'In {book}, look up the {noun} for each code in column {key}: sheet "{source}" has the codes in column '
        "{source_key} and the {noun} in column {source_value}. Write it to {cells}.",
        'Fill {cells} of {book} with the {noun} that sheet "{source}" gives in column {source_value} for the code '
        "in column {key} (its own codes are in column {source_key}).",
    ),
    Kind.PRODUCT: (
        "In {book}, fill {cells} with column {key} times column {second}, row by row.",
        "Multiply column {key} by column {second} in {book} and write each result to {cells}.",
    ),
    Kind.TIDY: (
        "In {book}, write each name of column {key} tidily to {cells}: single spaces, none at the ends, and a capital "
        "first letter for each word.",
        "The names in column {key} of {book} are untidy. Write them to {cells} with single spaces and each word "
        "capitalised.",
    ),
}

_FORMULAS = ("Use a formula.", "A formula in each cell would be fine.", "Please do it with formulas.")

_FIELDS = {
    "book": r"[\w-]+\.xlsx",
    "noun": r"\w+",
    "source": r"[A-Z][\w ]*",
    **dict.fromkeys(("key", "second", "source_key", "source_value"), r"[A-Z]"),
}
_CELLS = r"(?P<sheet>[A-Z]\w*)!(?P<column>[A-Z])(?P<first>\d+):(?P=column)(?P<last>\d+)"


def render(request: Request, variant: int) -> str:
    """The prompt for a request; `variant` picks among the kind's wordings (any integer)."""
    wordings = _WORDINGS[request.kind]
    text = wordings[variant % len(wordings)].format(**asdict(request), cells=request.cells)
    if request.formula:
        text += " " + _FORMULAS[variant % len(_FORMULAS)]
    return f"{text} Save the workbook as {OUTPUT}."


def read_request(prompt: str) -> Request | None:
    """What a prompt asks for, or None if it is no task of this kind. Line breaks and text around it do not matter."""
    text = " ".join(prompt.split())
    for kind, pattern in _PATTERNS:
        found = pattern.search(text)
        if found:
            fields = found.groupdict()
            first, last = int(fields.pop("first")), int(fields.pop("last"))
            rest = text[found.end() : found.end() + 60]
            formula = re.match(r" [^.]*\bformulas?\b", rest) is not None
            return Request(kind, first=first, last=last, formula=formula, **fields)
    return None


def _pattern(wording: str) -> re.Pattern[str]:
    """A wording as a regular expression: each field is a group, a field named again is a back reference."""
    seen: set[str] = set()
    parts: list[str] = []
    for piece in re.split(r"(\{\w+\})", wording):
        name = piece[1:-1]
        if not piece.startswith("{"):
            parts.append(re.escape(piece))
        elif name == "cells":
            parts.append(_CELLS)
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            parts.append(f"(?P<{name}>{_FIELDS[name]})")
            seen.add(name)
    return re.compile("".join(parts))


_PATTERNS = tuple((kind, _pattern(wording)) for kind, wordings in _WORDINGS.items() for wording in wordings)
