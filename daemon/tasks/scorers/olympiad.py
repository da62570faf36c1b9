"""How OlympiadBench reads answers, without algebra: what is boxed, which signs count alike, where pieces end.

Follows OpenBMB/OlympiadBench eval/auto_scoring_judge.py @ba5b26a (MIT).
"""

from __future__ import annotations

import re

SAYS = "So the final answer is"
"""What comes after it is the answer, as the benchmark's prompt asks."""
_ALIKE = {
    "\\left": "",
    "\\right": "",
    "∶": ":",  # noqa: RUF001
    "，": ",",  # noqa: RUF001 - the full-width comma is meant
    "$": "",
    "\\approx": "=",
    "\\simeq": "=",
    "\\sim": "=",
    "^\\prime": "'",
    "^{\\prime}": "'",
    "^\\circ": "",
    "%": "",
}
_EDGES = "\n$,.:;^_=+`!@#$%^&*~，。"  # noqa: RUF001
_FONT = re.compile(r"\\(?:mathrm|mathbf)\{~?([^}]*)\}")
_DOLLARS = re.compile(r"\$(.*?)\$")


def final_part(message: str) -> str:
    """The part of a message that holds its answer."""
    return message.rsplit(SAYS, 1)[-1]


def preprocessed(text: str) -> str:
    """The answer in a text, with signs that count alike made one; raises `ValueError` for braces that do not match."""
    found = _boxed(text)
    if not found:
        line = text.strip().split("\n")[-1]
        found = "".join(f"{part}," for part in _DOLLARS.findall(line)) or text
    if "\\in " in found:
        found = found.split("\\in ")[1]
    for sign, other in _ALIKE.items():
        found = found.replace(sign, other)
    return _FONT.sub(r"\1", found.strip(_EDGES))


def _boxed(text: str) -> str:
    """The content of every box, a comma after each."""
    found, at = [], text.find("\\boxed{")
    while at >= 0:
        start = at + len("\\boxed{")
        end = _closing(text, start)
        found.append(text[start:end] + ",")
        at = text.find("\\boxed{", start)
    return "".join(found)


def _closing(text: str, start: int) -> int:
    """Where the brace that was opened before `start` closes."""
    depth = 1
    for match in re.finditer(r"[{}]", text[start:]):
        depth += 1 if match[0] == "{" else -1
        if not depth:
            return start + match.start()
    msg = "braces do not match"
    raise ValueError(msg)


def split_answer(text: str) -> list[str]:
    """The pieces of an answer: split at commas outside brackets, and at plus-minus signs into both."""
    pieces, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == "," and not depth:
            pieces.append(text[start:at].strip())
            start = at + 1
    if start < len(text):
        pieces.append(text[start:].strip())
    return [part for piece in pieces for part in _both_signs(piece)]


def _both_signs(piece: str) -> list[str]:
    return [piece.replace("\\pm", sign) for sign in "+-"] if "\\pm" in piece else [piece]


def numerically_equal(gold: str, given: str, precision: float) -> bool:
    """Both numbers, equal within the precision, or by a factor of 100 as percentages are; raises `ValueError`."""
    wanted, number = float(gold), float(given)
    return any(abs(one - number) <= precision * 1.01 for one in (wanted / 100, wanted, wanted * 100))
