"""Characters that a person reading a diff cannot see: refused in edits, dropped from commit messages.

Invariant: newline and tab are never hidden; every control, format, surrogate, private-use and separator character is.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
# Invisible though Unicode files them under letters, marks or symbols.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffe\uffff")
# Reserved for what is never shown, or for nothing at all (the last two places of every plane are added in `is_hidden`).
_RESERVED = (range(0x2065, 0x2066), range(0xFDD0, 0xFDF0), range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000))
_NOT_PLAIN = re.compile(r"[^\n\t\x20-\x7e]")
_VISIBLE_VARIATIONS = ("\ufe0e", "\ufe0f")  # text or emoji style: common after signs such as a warning triangle


def is_hidden(char: str) -> bool:
    """True for one character that has no visible trace (bidi control, zero width, tag, C0 or C1 control, …)."""
    if char in "\n\t":
        return False
    if unicodedata.category(char) in _HIDDEN_CATEGORIES or char in _BLANKS:
        return True
    code = ord(char)
    if code & 0xFFFE == 0xFFFE or any(code in reserved for reserved in _RESERVED):
        return True
    return "\ufe00" <= char <= "\ufe0f" and char not in _VISIBLE_VARIATIONS


def find_hidden(text: str) -> tuple[int, str] | None:
    """The first hidden character as (line from 1, `U+XXXX`), or None. CRLF line ends are not hidden."""
    text = text.replace("\r\n", "\n")
    for match in _NOT_PLAIN.finditer(text):
        if is_hidden(match[0]):
            return text.count("\n", 0, match.start()) + 1, f"U+{ord(match[0]):04X}"
    return None


def drop_hidden(text: str) -> str:
    """The text without its hidden characters."""
    return _NOT_PLAIN.sub(lambda match: "" if is_hidden(match[0]) else match[0], text)
