"""Whether what a person says corrects what the agent did: told by a few plain signs, without a model.

The signs are at the beginning of what is said, where people object; a request like an earlier one is one too. Better to
miss some than to take every second wish for a correction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEAD = 200
_LEAST_WORDS = 4
_ALIKE = 90
_COMPARED = 500

_NEGATED = r"(?:wrong|incorrect|not (?:right|correct|what|how|it|the|true)|not? the \w+ i)"
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (label, re.compile(pattern, re.IGNORECASE))
    for label, pattern in (
        (
            "asked to take it back",
            r"(?:please )?(?:undo|revert|roll ?back|put (?:it|that|this) back)\b|mach das rückgängig",
        ),
        (
            "said it still fails",
            r"(?:it|this|that|there|he|the \w+)?(?:'s| is| are)? ?(?:still|again)\b.{0,40}"
            r"(?:fail|error|wrong|broken|not|n't|missing|crash)|(?:it|this|that) (?:still )?(?:fails|crashes|breaks|"
            r"does(?:n't| not) work|did(?:n't| not) work)|geht (?:immer noch )?nicht",
        ),
        (
            "said something was left out",
            r"(?:you|we) (?:forgot|missed|skipped|left out|didn't|did not|haven't|have not)\b|du hast .{0,40}vergessen",
        ),
        (
            "said it again",
            r"(?:i|we) (?:said|asked|told you|meant|wanted)\b|as i said|like i said|i already|read (?:it|that) again",
        ),
        (
            "contradicted",
            rf"(?:no|nope|nein|non|stop|wait|hmm,? no)\b(?![\s,]+(?:problem|worries|need|rush))|{_NEGATED}"
            rf"|(?:that|this|it)(?:'s| is| was|s)? {_NEGATED}|(?:don't|do not|never(?! mind)|why did(?:n't)? you|"
            r"you should(?:n't| not)?|you were (?:not )?supposed|actually,? (?:no|it|that|you)|falsch|das ist nicht)\b",
        ),
    )
)
_GO_ON = re.compile(r"(?:ok(?:ay)?|yes|go on|go ahead|continue|proceed|weiter|next|thanks?)\b[\s.!]*\Z", re.IGNORECASE)


def cue_of(said: str, earlier: Sequence[str] = ()) -> str:
    """How a person's words correct what was done, by name; empty if they do not. `earlier`: what they said before."""
    head = " ".join(said[:_HEAD].split()).lstrip("-*>,. ").replace("’", "'")  # noqa: RUF001 - as phones write it
    if not head or head.startswith(("/", "$")) or _GO_ON.match(head):
        return ""
    found = next((label for label, pattern in _SIGNS if pattern.match(head)), "")
    return found or ("asked the same again" if _again(said, earlier) else "")


def _again(said: str, earlier: Sequence[str]) -> bool:
    if len(said.split()) < _LEAST_WORDS:
        return False
    from rapidfuzz import fuzz  # noqa: PLC0415 - large, and few people say the same again

    now = said[:_COMPARED].casefold()
    return any(
        len(one.split()) >= _LEAST_WORDS and fuzz.ratio(now, one[:_COMPARED].casefold()) >= _ALIKE for one in earlier
    )
