r"""Disguises in which a secret gets past a look for its shape: escape sequences, hidden characters, `\u002d`, base64.

Pure. What is only dressed up is undressed; what is encoded (base64) is found and decoded for whoever judges it.
Invariant: time linear in the text.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from skills_repo.hidden import drop_hidden

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|[\]PX^_][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[ -/]{0,8}[0-~])"
    r"|\x9b[0-?]{0,64}[@-~]"
)
_ESCAPED_TOO = re.compile(r"\\(?:u001b|x1b|e|033)\[[0-?]{0,64}[ -/]{0,8}[@-~]", re.IGNORECASE)
"""An escape sequence that JSON or a shell has written out."""
_CODES = re.compile(r"\\{1,4}u00([2-7][0-9a-f])|\\{1,4}x([2-7][0-9a-f])|%([2-7][0-9a-f])", re.IGNORECASE)
_SLASHES = re.compile(r"\\/")
_NOT_PLAIN = re.compile(r"[^\t\n\r\x20-\x7e]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")
_LETTERS = str.maketrans("-_", "+/", "\r\n=")
_DEEP = 2


def undressed(text: str) -> str:
    """The text as a terminal, a browser or a parser of JSON would have it; itself where it wears nothing."""
    plain = text
    if "\x1b" in plain or "\x9b" in plain:
        plain = _ESCAPE.sub("", plain)
    if "\\" in plain:
        plain = _SLASHES.sub("/", _ESCAPED_TOO.sub("", plain))
    if "\\" in plain or "%" in plain:
        plain = _CODES.sub(lambda found: chr(int(found[1] or found[2] or found[3], 16)), plain)
    return drop_hidden(plain) if _NOT_PLAIN.search(plain) else plain


def without_encoded(text: str, secret: Callable[[str], bool], mark: str) -> str:
    """The text with `mark` for each run of base64 that decodes to text of which `secret` says yes."""
    return _BASE64.sub(lambda found: mark if _hides(found[0], secret, _DEEP) else found[0], text)


def _hides(run: str, secret: Callable[[str], bool], deep: int) -> bool:
    text = _decoded(run)
    if text is None:
        return False
    if secret(text):
        return True
    return deep > 1 and any(_hides(found[0], secret, deep - 1) for found in _BASE64.finditer(text))


def _decoded(run: str) -> str | None:
    """What a run of base64 says; None where that is no text."""
    letters = run.translate(_LETTERS)
    letters = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    try:
        # Most runs are digests, paths or long words: their first bytes tell.
        if not _is_text(base64.b64decode(letters[:16])):
            return None
        return base64.b64decode(letters + "=" * (-len(letters) % 4)).decode("utf-8", "ignore")
    except (binascii.Error, ValueError):
        return None


def _is_text(data: bytes) -> bool:
    return all(byte in b"\t\n\r" or 0x20 <= byte < 0x7F or byte >= 0x80 for byte in data) and sum(
        byte < 0x80 for byte in data
    ) * 2 > len(data)
