"""Where a target that is not in the skill may have been meant: a hint for whoever wrote it, never a place to edit."""

from __future__ import annotations

import re

from skills_repo.newlines import LineView

MAX_SHOWN = 300
_TYPOGRAPHIC = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201a": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u201e": '"',
        "\u00ab": '"',
        "\u00bb": '"',
        "\u2010": "-",
        "\u2011": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u00a0": " ",
    }
)


def nearest(text: str, target: str) -> str:
    """A sentence that names the one place that differs only in white space, quotes, dashes or letter case; or none."""
    lines = LineView(text).text.split("\n")
    wanted = [_plain(line) for line in LineView(target).text.strip("\n").split("\n")]
    wanted_case = [line.casefold() for line in wanted]
    if not any(wanted):
        return ""
    plain = [_plain(line) for line in lines]
    for rows, want in ((plain, wanted), ([row.casefold() for row in plain], wanted_case)):
        found = [at for at in range(len(rows) - len(want) + 1) if _fits(rows[at : at + len(want)], want)]
        if len(found) == 1:
            shown = "\n".join(lines[found[0] : found[0] + len(want)])
            return f"the nearest place is line {found[0] + 1}, which reads {_quoted(shown)}"
    first = next(line for line in wanted_case if line)
    heads = [at for at, row in enumerate(plain) if row.casefold() == first]
    if len(wanted) > 1 and len(heads) == 1:
        return f"only its line {_quoted(lines[heads[0]])} is in the skill, as line {heads[0] + 1}"
    return ""


def _plain(line: str) -> str:
    return re.sub(r"[ \t]+", " ", line.translate(_TYPOGRAPHIC)).strip()


def _fits(rows: list[str], want: list[str]) -> bool:
    """The target may begin and end inside a line; what is between must be whole lines."""
    if len(want) == 1:
        return want[0] in rows[0]
    return rows[0].endswith(want[0]) and rows[-1].startswith(want[-1]) and rows[1:-1] == want[1:-1]


def _quoted(text: str) -> str:
    return f"«{text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + '…'}»"
