"""What is general knowledge: words that a rule for any task may use.

The list is of the words that instructions are written in (from the documentation of software, with calendar, office,
arithmetic and question words added); a task set adds what its prompts use in lower case again and again.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def _list(name: str) -> frozenset[str]:
    return frozenset((files(__package__) / f"{name}.txt").read_text(encoding="utf-8").split())


STOP_WORDS = _list("stop_words")
FILE_STEMS = _list("file_stems")
"""File names such as output.xlsx name nothing."""
_COMMON = _list("common_words")
_ENDINGS = ("s", "es", "d", "ed", "r", "er", "ing", "ly", "able", "ally")


@cache
def is_common(word: str) -> bool:
    """Whether a folded word, or what it is derived from, is on the list. One letter is, also repeated (x, yyyy)."""
    if len(set(word)) < 2 or word in _COMMON or word in STOP_WORDS:
        return True
    return any(word.endswith(end) and _derived(word[: -len(end)]) for end in _ENDINGS)


def _derived(stem: str) -> bool:
    if len(stem) < 3:
        return False
    doubled = stem[-1] == stem[-2] and stem[:-1] in _COMMON
    return doubled or any(made in _COMMON for made in (stem, stem + "e", stem[:-1] + "y" * (stem[-1] == "i")))
