"""Text as the firewall compares it: words with their places, whatever was done to hide them.

Normalised away: width and ligatures (NFKC), case, accents, hidden characters, punctuation, spacing, and how a number
is grouped ("1,234.50" is "1234.5"). Look-alike letters of other scripts are not: an answer with one Cyrillic
letter passes. Everything here takes time linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from skills_repo.hidden import is_hidden

_LOOSE = dict.fromkeys(
    (
        0xFE0E,
        0xFE0F,
        *range(0x300, 0x370),
        *range(0x483, 0x488),
        *range(0x1AB0, 0x1B00),
        *range(0x1DC0, 0x1E00),
        *range(0x20D0, 0x2100),
    )
)
"""Accents that stand alone where no letter has them built in."""
_PILE = 8
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"  # scripts without spaces: each character is a word
    r"|\d++(?:[.,'’]\d++)*+(?![^\W_])"  # noqa: RUF001 - a grouping sign of numbers
    r"|[^\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)

_CODE = re.compile(r"[^\W_]+|[^\w\s]|_")


@dataclass(frozen=True)
class Words:
    """A text cut into comparable words."""

    text: str
    """The text that the places refer to: the given one, cleaned."""
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Of each word in `text`."""

    def raw(self, first: int, last: int) -> str:
        """The text from one word to another, both included."""
        start, end = self.span(first, last)
        return self.text[start:end]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The place of words `first` to `last`, both included."""
        return self.spans[first][0], self.spans[last][1]

    def __len__(self) -> int:
        return len(self.words)


def split(text: str) -> Words:
    """Cut a text into words."""
    text = clean(text)
    found = list(_WORD.finditer(text))
    return Words(text, tuple(fold(match[0]) for match in found), tuple(match.span() for match in found))


def split_code(text: str) -> Words:
    """Cut source into words and signs: `[0-9]+` is six."""
    text = clean(text)
    found = list(_CODE.finditer(text))
    return Words(text, tuple(match[0].casefold() for match in found), tuple(match.span() for match in found))


def clean(text: str) -> str:
    """The text in NFKC, without hidden characters and loose accents."""
    if text.isascii() and text.isprintable():
        return text
    dropped = {ord(char): None for char in set(text) if is_hidden(char)}
    if _piled(text):
        dropped |= {ord(char): None for char in set(text) if unicodedata.combining(char)}
    return unicodedata.normalize("NFKC", text.translate(dropped)).translate(_LOOSE)


def _piled(text: str) -> bool:
    """Whether many accents are piled on one letter: to order them would take quadratic time."""
    if text.isascii():
        return False
    marks = {char for char in set(text) if unicodedata.combining(char)}
    run = 0
    for char in text if marks else "":
        run = run + 1 if char in marks else 0
        if run > _PILE:
            return True
    return False


@lru_cache(maxsize=100_000)
def fold(word: str) -> str:
    """One word as it is compared."""
    if word[0].isdigit() and not word.isalnum():
        return plain_number(word)
    word = word.casefold()
    if word.isascii():
        return word
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))


def plain_number(text: str) -> str:
    """A number without grouping and without zeros that say nothing; a date or a version keeps its points."""
    text = re.sub(r"['’]", "", text)  # noqa: RUF001
    if "," in text and "." in text:
        decimal = max(text.rfind(","), text.rfind("."))
        head, tail = re.sub(r"[.,]", "", text[:decimal]), text[decimal + 1 :]
    elif re.fullmatch(r"\d{1,3}(?:,\d{3})+", text):
        return text.replace(",", "")
    elif text.count(",") == 1 or (text.count(".") == 1 and "," not in text):
        head, _, tail = text.replace(",", ".").partition(".")
    else:
        return text
    tail = tail.rstrip("0")
    return f"{head}.{tail}" if tail else head


def is_number(word: str) -> bool:
    """Whether a folded word is a number."""
    return word[:1].isdigit() and word.replace(".", "", 1).isdigit()


def digits(number: str) -> int:
    """Significant digits of a folded number."""
    return len(number.replace(".", "").strip("0"))
