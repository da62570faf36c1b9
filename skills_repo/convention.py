"""How a repository words its commits, told from the subjects of people's recent ones. Pure.

Invariants: subjects are anybody's text, so of them nothing but a known type word is ever taken over; equal subjects
give an equal convention; a trailing full stop, ticket prefixes and gitmoji are never imitated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["honed", "conventional", "area", "plain"]

LEAST = 5
"""Fewer subjects than this show no convention."""
LONGEST = 500
"""Characters of a subject that are looked at."""
TYPES = ("docs", "chore", "feat", "fix", "refactor", "style", "perf", "test", "build", "ci", "revert")
"""What conventional commits begin with, and nothing else does."""
_FITTING = TYPES[:5]
"""Types that a change of a skill may have; where people differ, the earlier one."""
_QUIET = TYPES[:2]
"""Of those, the ones that release tools make no release of."""
_CONVENTIONAL = re.compile(rf"({'|'.join(TYPES)})(\([^()]{{1,80}}\))?!?: +(\S)")
_AREA = re.compile(r"[\w./*+-]+(?:, ?[\w./*+-]+){0,2}(?:\([^()]{1,80}\))?!?: +(\S)")
_AHEAD = re.compile(
    r"\s*(?:\[[^\[\]]{1,40}\]:?|#\d+:?|[A-Z][A-Z0-9]+-\d+:?|:[a-z0-9_+-]+:|[\u2190-\u2bff\U0001f000-\U0001faff\ufe0f]+)\s+"
)
_MADE = re.compile(r"(?:Revert|Reapply) \"|Merge |(?:fixup|squash|amend)! ")


@dataclass(frozen=True)
class Convention:
    """How subjects are written. The default is honed's own form: `skill(xlsx): add "…"`."""

    style: Style = "honed"
    type: str = ""
    """Of conventional commits: one of `TYPES`."""
    scoped: bool = False
    """Conventional commits name a scope."""
    capital: bool = False
    """The words after the prefix begin with a capital."""
    sign_off: str = ""
    """`Name <email>` to sign off with, where people do; else empty."""


DEFAULT = Convention()


@dataclass(frozen=True)
class _Seen:
    """What one subject shows."""

    style: Style
    type: str
    scoped: bool
    capital: bool


def convention_of(subjects: Sequence[str], of_skill: Sequence[str] = (), *, sign_off: str = "") -> Convention:
    """The convention of these subjects of people's commits; `of_skill`: of those that changed the skill's folder.

    More than half of them must agree, of at least `LEAST`; else it is honed's own form.
    """
    seen, own = ([one for one in map(_seen, some) if one is not None] for some in (subjects, of_skill))
    styles: tuple[Style, ...] = ("conventional", "area", "plain")
    style: Style = next((one for one in styles if len(seen) >= LEAST and _most(one == s.style for s in seen)), "honed")
    conventional = sum(one.style == "conventional" for one in seen)
    if (
        style == "honed"
        and len(seen) >= LEAST
        and 2 * (conventional + sum(s.style == "area" for s in seen)) > len(seen)
    ):
        style = "area"
    like = [one for one in seen if one.style == style]
    if style == "honed":
        return Convention(sign_off=sign_off)
    capital = _most((one.capital for one in like), or_equal=style == "plain")
    if style != "conventional":
        return Convention(style, capital=capital, sign_off=sign_off)
    mine = [one for one in own if one.style == style]
    return Convention(style, _type(mine, like), _most(one.scoped for one in mine or like), capital, sign_off)


def _seen(subject: str) -> _Seen | None:
    """None for what git or a machine words."""
    text = subject[:LONGEST]
    if _MADE.match(text):
        return None
    while ahead := _AHEAD.match(text):
        text = text[ahead.end() :]
    if found := _CONVENTIONAL.match(text):
        return _Seen("conventional", found[1], found[2] is not None, found[3].isupper())
    if found := _AREA.match(text):
        return _Seen("area", "", False, found[1].isupper())
    return _Seen("plain", "", False, text[:1].isupper()) if text[:1].isalpha() else None


def _type(mine: Sequence[_Seen], like: Sequence[_Seen]) -> str:
    """What people use for the skill; else what makes no release, as they use it most."""
    for seen, fitting in ((mine, _FITTING), (like, _QUIET)):
        count = Counter(one.type for one in seen if one.type in fitting)
        if count:
            return min(count, key=lambda word: (-count[word], fitting.index(word)))
    return _QUIET[0]


def _most(votes: Iterable[bool], *, or_equal: bool = False) -> bool:
    """More than half say so."""
    cast = list(votes)
    return 2 * sum(cast) > len(cast) or (or_equal and 2 * sum(cast) == len(cast))
