"""Whether a change brings back what another one did: the same text, or a paraphrase of it at the same place.

Pure. Lexical on purpose: it is the same on every machine and costs nothing. What it recognises and what it does not is
counted in tests, over a table of pairs (`tests/support/paraphrases.py`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from skills_repo.skill import Skill

LIKE = 0.65
"""From this likeness on two rules at one place say the same; chosen on the table of pairs."""
SHORT = 3
"""Texts with fewer words than this that say something are alike only if they have the same ones."""
MAX_LINES = 8_000
_MOST = 0.5
"""Of either side's text that has to be the same."""
_WORD = re.compile(r"\w+(?:[-./:]\w+)*")
_HEADING = re.compile(r"#{1,6}\s+\S|<!--")
_MARK = "<!--"
_ENDINGS = ("ing", "ed", "es", "s", "e")
_NUMBERS = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "ten": "10"}
_FILLERS = frozenset(
    _WORD.findall(
        "a after all always an and any are as at be been before by do does down each every for from if in into is it"
        " its make must never no not of off on only or our out over per should so sure than that the their them then"
        " these they this those to under up use we when with without you your"
    )
)


@dataclass(frozen=True)
class Change:
    """One stretch of lines that an edit changed."""

    places: tuple[str, ...]
    """Where, in words that survive other edits: the section, the line above, the end of the file; ordered."""
    removed: tuple[str, ...]
    """Lines that say something, blanks and case aside."""
    added: tuple[str, ...]


def changes(before: Skill, after: Skill) -> tuple[Change, ...]:
    """What differs between two versions, in every file that is text; ordered by file and line."""
    found: list[Change] = []
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path, b""), after.files.get(path, b"")
        if old != new:
            try:
                texts = [data.decode("utf-8").replace("\r\n", "\n").split("\n") for data in (old, new)]
            except UnicodeDecodeError:
                continue
            if max(map(len, texts)) <= MAX_LINES:
                found += _changes(path, *texts)
    return tuple(found)


def loose(removed: str, added: str) -> tuple[Change, ...]:
    """A change whose place is not known."""
    return (Change((), _saying(removed.split("\n")), _saying(added.split("\n"))),)


def likeness(one: str, other: str) -> float:
    """0..1: the share of words that say something which both have (Dice)."""
    mine, theirs = _words(one), _words(other)
    if not mine or not theirs:
        return 0.0
    if min(len(mine), len(theirs)) < SHORT:
        return float(mine == theirs)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def brings_back(proposed: Sequence[Change], known: Sequence[Change]) -> bool:
    """Most of what the one adds is what the other added: the same lines anywhere, or like ones at the same place.

    A deletion brings a deletion back if they have a line in common.
    """
    if not any(one.added for one in known):
        removed = {line for one in known for line in one.removed}
        return not any(one.added for one in proposed) and any(removed & set(one.removed) for one in proposed)
    return _covered(proposed, known) > _MOST or _covered(known, proposed) > _MOST


def folded(line: str) -> str:
    """A line with blanks and letter case aside."""
    return " ".join(line.split()).casefold()


def _covered(these: Sequence[Change], those: Sequence[Change]) -> float:
    """The share of what `these` add, by length, that stands in `those`, too."""
    total, found = 0, 0
    exact = {line for one in those for line in one.added}
    for one in these:
        near = [other for other in those if set(one.places) & set(other.places)]
        whole = " ".join(one.added)
        same = any(likeness(whole, " ".join(other.added)) >= LIKE for other in near)
        like = [line for other in near for line in other.added]
        for line in one.added:
            total += len(line)
            if same or line in exact or any(likeness(line, other) >= LIKE for other in like):
                found += len(line)
    return found / total if total else 0.0


def _changes(path: str, old: list[str], new: list[str]) -> list[Change]:
    found = []
    for tag, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed, added = _saying(old[start:end]), _saying(new[first:last])
        if removed or added:
            marks = {f"{path} section {folded(line)}" for line in new[first:last] if line.startswith(_MARK)}
            found.append(Change(tuple(sorted(_places(path, old, start, end) | marks)), removed, added))
    return found


def _places(path: str, lines: Sequence[str], start: int, end: int) -> set[str]:
    """Of a change between two lines of the text before it. The guarded region is a section of its own."""
    above = next((folded(line) for line in reversed(lines[:start]) if line.strip()), "")
    section = next((folded(line) for line in reversed(lines[:start]) if _HEADING.match(line)), "")
    found = {f"{path} section {section}", f"{path} below {above}"}
    found |= {f"{path} below {line}" for line in _saying(lines[start:end])}
    below = next((line for line in lines[end:] if line.strip()), _MARK)
    return found | {f"{path} end"} if below.startswith(_MARK) else found


def _saying(lines: Sequence[str]) -> tuple[str, ...]:
    """Those with a word in them, folded; the guarded region's marks say nothing."""
    return tuple(folded(line) for line in lines if re.search(r"\w", line) and not line.startswith(_MARK))


def _words(text: str) -> frozenset[str]:
    words = (_NUMBERS.get(word, word) for word in _WORD.findall(text.casefold()))
    return frozenset(_stem(word) for word in words if word not in _FILLERS)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word
