"""Writes the script that the simulated target runs for a request, the way its habits make it work.

The script is plain Python with openpyxl, as an agent would write it, and says in a few lines what it did. Invariant:
it depends on the request and the habits alone, so what went wrong can be read in the trace.
"""

from __future__ import annotations

from daemon.demo.rules import Habits
from daemon.demo.wordings import OUTPUT, Kind, Request

_HEAD = """\
import openpyxl

book = openpyxl.load_workbook({book!r})
sheet = {sheet}
"""

_RAW_KEY = """\
def key(value):
    return value
"""

_NORMALISED_KEY = """\
def key(value):
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split()).casefold()
"""

_TABLE = """\
found = {{}}
for row in book[{source!r}].iter_rows(min_row=2):
    name = key(row[{key_index}].value)
    if name is not None:
        {collect}
"""

_COLLECT = {
    Kind.TOTAL: "found[name] = found.get(name, 0) + row[{value_index}].value",
    Kind.COUNT: "found[name] = found.get(name, 0) + 1",
    Kind.LOOKUP: "found[name] = row[{value_index}].value",
}

_ANSWERS = {
    Kind.TOTAL: "round(found[key(given)], 2) if key(given) in found else None",
    Kind.COUNT: "found.get(key(given))",
    Kind.LOOKUP: "found.get(key(given))",
    Kind.PRODUCT: ("round(given * factor, 2) if all(isinstance(x, (int, float)) for x in (given, factor)) else None"),
    Kind.TIDY: '" ".join(word.capitalize() for word in str(given).split())',
}

_FORMULAS = {
    Kind.TOTAL: "=SUMIF('{source}'!{source_key}:{source_key},{key}{{row}},'{source}'!{source_value}:{source_value})",
    Kind.COUNT: "=COUNTIF('{source}'!{source_key}:{source_key},{key}{{row}})",
    Kind.LOOKUP: (
        "=INDEX('{source}'!{source_value}:{source_value},MATCH({key}{{row}},'{source}'!{source_key}:{source_key},0))"
    ),
    Kind.PRODUCT: "={key}{{row}}*{second}{{row}}",
    Kind.TIDY: "=PROPER(TRIM({key}{{row}}))",
}

_LOOP = """\
written, unmatched = 0, []
for row in range({first}, {last} + 1):
    given = sheet[f"{key}{{row}}"].value
    if given is None:
        {at_empty}
{answer}
    sheet[f"{column}{{row}}"] = answer
    written += 1
"""

_TAIL = """\
print(f"wrote {{written}} {what} to {{sheet.title}}!{column}{first} and below, on the {which} sheet")
if unmatched:
    print(f"no match for {{len(unmatched)}} keys, left empty: {{unmatched[:3]}}")
book.save({output!r})
"""


def script(request: Request, habits: Habits) -> str:
    """The Python source for one request, worked with these habits."""
    formulas = habits.content == "formulas" or (habits.content == "as_asked" and request.formula)
    sheets = {"active": "book.active", "first": "book.worksheets[0]", "named": f"book[{request.sheet!r}]"}
    parts = [_HEAD.format(book=request.book, sheet=sheets[habits.sheet])]
    if not formulas and request.source:
        parts += [_NORMALISED_KEY if habits.normalise_keys else _RAW_KEY, _table(request)]
    at_empty = "continue" if habits.whole_range else 'print(f"stopped at the empty row {row}"); break'
    loop = _LOOP.replace("{at_empty}", at_empty.replace("{row}", "{{row}}"))
    answer = _formula_lines(request) if formulas else _value_lines(request)
    parts.append(
        loop.format(first=request.first, last=request.last, key=request.key, column=request.column, answer=answer)
    )
    parts.append(
        _TAIL.format(
            what="formulas" if formulas else "values",
            column=request.column,
            first=request.first,
            which=habits.sheet,
            output=OUTPUT,
        )
    )
    return "\n".join(parts)


def command(request: Request, habits: Habits) -> str:
    """The script as one shell command."""
    return f"python3 - <<'PY'\n{script(request, habits)}PY"


def _table(request: Request) -> str:
    value_index = _index(request.source_value) if request.source_value else 0
    collect = _COLLECT[request.kind].format(value_index=value_index)
    return _TABLE.format(source=request.source, key_index=_index(request.source_key), collect=collect)


def _formula_lines(request: Request) -> str:
    formula = _FORMULAS[request.kind].format(
        source=request.source,
        source_key=request.source_key,
        source_value=request.source_value,
        key=request.key,
        second=request.second,
    )
    return f'    answer = f"{formula}"'


def _value_lines(request: Request) -> str:
    lines = []
    if request.kind is Kind.PRODUCT:
        lines.append(f'factor = sheet[f"{request.second}{{row}}"].value')
    lines += [f"answer = {_ANSWERS[request.kind]}", "if answer is None:", "    unmatched.append(given)", "    continue"]
    return "\n".join("    " + line for line in lines)


def _index(letter: str) -> int:
    return ord(letter) - ord("A")
