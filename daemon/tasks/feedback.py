"""The feedback firewall: what a scorer says about a failure never carries the gold answer on to the optimizer.

Scorers are written not to; this is the second wall. Only letters and digits are compared, so spacing, case,
punctuation and width do not hide an answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from daemon.tasks.task import Score, Task

SHORTEST = 4
"""Gold texts with fewer letters and digits are not looked for: they occur in any sentence."""
WITHHELD = "the answer is wrong (details withheld: they would show what is expected)"


def bare(text: str) -> str:
    """Only letters and digits, compatibility-folded, without case."""
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


def gold_texts(answer: Any) -> Iterator[str]:
    """Every text or number within a task's answer, however nested."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, int | float) and not isinstance(answer, bool):
        yield repr(answer)
    elif isinstance(answer, dict):
        for value in answer.values():
            yield from gold_texts(value)
    elif isinstance(answer, list | tuple):
        for value in answer:
            yield from gold_texts(value)


def shows_gold(text: str, answer: Any) -> bool:
    """Whether a text carries any accepted answer of `SHORTEST` or more letters and digits."""
    haystack = bare(text)
    golds = (bare(gold) for gold in gold_texts(answer))
    return any(gold in haystack for gold in golds if len(gold) >= SHORTEST)


def without_gold(score: Score, task: Task) -> Score:
    """The score with its feedback replaced as a whole if it carries gold."""
    if not shows_gold(score.feedback, task.answer):
        return score
    safe = "" if shows_gold(WITHHELD, task.answer) else WITHHELD
    return replace(score, feedback=safe)
