"""Regular expressions of task authors: checked when tasks load, matched in the bounded process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from daemon.tasks.scorers.bounded import CPU_S, TEXT
from daemon.tasks.scorers.scorer import VerifierError

Asked = tuple[str, str, bool]
"""(pattern, text, whether the whole text must match)."""


def check_pattern(pattern: str, *, groups: int | None = None) -> str:
    """The pattern; raises `ValueError` if it is none, or has more groups than may be."""
    try:
        found = re.compile(pattern).groups
    except (re.error, OverflowError, RecursionError) as error:
        msg = f"is not a regular expression: {error}"
        raise ValueError(msg) from error
    if groups is not None and found > groups:
        msg = "has more than one group: make the others (?:…)"
        raise ValueError(msg)
    return pattern


async def last_match(pattern: str, text: str, option: str) -> str | None:
    """Group 1 (or all) of the last match; None: no match. Raises `VerifierError` naming the option if it hangs."""
    reply = await TEXT.ask("search", pattern=pattern, text=text)
    if reply.death:
        raise _slow(option)
    found = reply.result["found"]
    return found if isinstance(found, str) else None


async def all_matches(asked: Sequence[Asked], option: str) -> list[bool]:
    """Whether each pattern matches its text; raises `VerifierError` naming the option if they hang."""
    reply = await TEXT.ask("matches", asked=list(asked))
    if reply.death:
        raise _slow(option)
    return [bool(matched) for matched in reply.result["matched"]]


def _slow(option: str) -> VerifierError:
    return VerifierError(f"scorer option {option}: the pattern ran longer than {CPU_S:g} s: make it simpler")
