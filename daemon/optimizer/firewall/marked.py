"""How a word stands in a text: as a name or a quotation, or as a word like any other.

"Zoom in on the page" names nobody, whatever a task is about; "as Zoom does" does.
"""

from __future__ import annotations

import re

from daemon.optimizer.firewall.cues import CUES
from daemon.optimizer.firewall.phrases import Hit
from daemon.optimizer.firewall.vocabulary import STOP_WORDS
from daemon.optimizer.firewall.words import Words

_LETTERS = re.compile(r"[^\W\d_]+")
_QUOTES = "\"'`*_\u2018\u2019\u201c\u201d<>[({"
_LONG = 9
"""Letters of a word that nobody writes by chance, if it is not on the list of common words."""


def is_title(text: str) -> bool:
    """Whether several words that matter all have capitals."""
    words = [word for word in _LETTERS.findall(text) if word.casefold() not in STOP_WORDS]
    return len(words) > 1 and all(word[0].isupper() for word in words)


def is_one_word(shown: str) -> bool:
    """Letters alone, with a hyphen at most."""
    return shown.replace("-", "").isalpha()


def as_name(words: Words, hit: Hit) -> bool:
    """Whether a phrase stands as a name; several words always do, one by a capital within a sentence or in quotes."""
    shown = words.raw(hit.first, hit.last)
    return not is_one_word(shown) or _in_quotes(words, hit) or (shown[0].isupper() and not _begins(words, hit.first))


def as_answer(words: Words, hit: Hit) -> bool:
    """Whether a phrase stands as an answer; a short word only with a capital, in quotes or after "answer"."""
    shown = words.raw(hit.first, hit.last)
    if not is_one_word(shown) or len(shown) >= _LONG or shown[0].isupper() or _in_quotes(words, hit):
        return True
    return hit.first > 0 and words.words[hit.first - 1] in CUES | {"is", "are", "say"}


def _in_quotes(words: Words, hit: Hit) -> bool:
    start, end = words.span(hit.first, hit.last)
    return start > 0 and words.text[start - 1] in _QUOTES and words.text[end : end + 1] not in ("", " ")


def _begins(words: Words, at: int) -> bool:
    """Whether a sentence, a line or a cell begins with this word."""
    if at == 0:
        return True
    between = words.text[words.spans[at - 1][1] : words.spans[at][0]]
    return any(sign in between for sign in "\n.!?:;|")
