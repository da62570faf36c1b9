"""Takes the skill's own text out of what an agent read or wrote: the reader of a trace is shown the skill once.

It works line by line, because tools number lines, name the file in front of them and cut long outputs in the middle.
A single rule that the agent quotes stays: it tells which one it had in mind.
"""

from __future__ import annotations

import bisect
import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_ABOVE = "[SKILL.md as shown above]"
_LONG = 8
"""Characters from which a line is taken for the skill's own; shorter ones (`---`) are everywhere."""
_FEW = 3
"""Long lines in a row that are no quotation any more."""
_NUMBERED = re.compile(r"^(?:[^\s:]*SKILL\.md[:-])?(?:\s*\d+(?:\u2192|[\t:|-])[ ]?)?")
_CUT = re.compile(r"^\[… \d+ characters left out …\]$")
_Kind = int
_OTHER, _WEAK, _STRONG = 0, 1, 2


@dataclass(frozen=True)
class _Known:
    """A skill's lines."""

    lines: frozenset[str]
    beginnings: tuple[str, ...]
    """The lines in order, for looking up what begins one; `ends` has them backwards, for what ends one."""
    ends: tuple[str, ...]
    wholes: tuple[str, ...]
    """The whole text and its body, as they stand and as part of a JSON string; the longest first."""
    chars: int
    """Of the body's long lines."""

    def kind(self, line: str, *, cut_before: bool, cut_after: bool) -> _Kind:
        for bare in {line.strip(), _NUMBERED.sub("", line).strip()}:
            if not bare:  # a number, and nothing on its line
                return _WEAK
            if (
                bare in self.lines
                or (cut_after and _begins_one(bare, self.beginnings))
                or (cut_before and _begins_one(bare[::-1], self.ends))
            ):
                return _STRONG if len(bare) >= _LONG else _WEAK
        return _OTHER


def _begins_one(start: str, ordered: Sequence[str]) -> bool:
    """Whether one of the texts, which are in order, begins so."""
    at = bisect.bisect_left(ordered, start)
    return at < len(ordered) and ordered[at].startswith(start)


def without_skill(text: str, skill: str) -> str:
    """The text with every copy of the skill (SKILL.md, whole) in it replaced by `SHOWN_ABOVE`."""
    if not skill.strip() or not text:
        return text
    known = _known(skill)
    for whole in known.wholes:
        text = text.replace(whole, SHOWN_ABOVE)
    lines = text.split("\n")
    kinds = _kinds(lines, known)
    if _STRONG not in kinds:
        return text
    kept: list[str] = []
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and kinds[end] != _OTHER:
            end += 1
        kept += _replaced(lines[at:end], kinds[at:end], known)
        if end < len(lines):
            kept.append(lines[end])
        at = end + 1
    return "\n".join(kept)


def _kinds(lines: list[str], known: _Known) -> list[_Kind]:
    cuts = [_CUT.match(line.strip()) is not None for line in lines]
    kinds = []
    for index, line in enumerate(lines):
        if cuts[index] or not line.strip():
            kinds.append(_WEAK)
            continue
        before, after = index > 0 and cuts[index - 1], index + 1 < len(lines) and cuts[index + 1]
        kinds.append(known.kind(line, cut_before=before, cut_after=after))
    return kinds


def _replaced(run: list[str], kinds: list[_Kind], known: _Known) -> list[str]:
    """A run of lines that are all the skill's, or blank, or a cut: replaced if it is more than a quotation."""
    strong = [line for line, kind in zip(run, kinds, strict=True) if kind == _STRONG]
    if not strong or (len(strong) < _FEW and 2 * sum(len(line.strip()) for line in strong) < known.chars):
        return run
    start, end = 0, len(run)
    while not run[start].strip():
        start += 1
    while not run[end - 1].strip():
        end -= 1
    return [*run[:start], SHOWN_ABOVE, *run[end:]]


@functools.lru_cache(maxsize=8)
def _known(skill: str) -> _Known:
    skill = skill.replace("\r\n", "\n").replace("\r", "\n").strip()
    parts = re.split(r"^---[ \t]*$", skill, maxsplit=2, flags=re.MULTILINE)
    body = (parts[2] if len(parts) == 3 and not parts[0] else skill).strip()
    lines = frozenset(line.strip() for line in skill.split("\n") if line.strip())
    chars = sum(len(line.strip()) for line in body.split("\n") if len(line.strip()) >= _LONG)
    plain = [whole for whole in (skill, body) if "\n" in whole]
    escaped = [json.dumps(whole, ensure_ascii=ascii_only)[1:-1] for whole in plain for ascii_only in (False, True)]
    wholes = tuple(sorted({*plain, *escaped}, key=lambda whole: (-len(whole), whole)))
    return _Known(lines, tuple(sorted(lines)), tuple(sorted(line[::-1] for line in lines)), wholes, chars)
