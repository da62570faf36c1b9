"""Secrets without a shape of their own that a text plainly gives as such: a password's value, a login, a cookie.

Invariants: time linear in the text; code that only handles a secret (`password = getpass()`, `token: str`,
`Bearer $TOKEN`) gives none and stays readable, for traces are full of it.
"""

from __future__ import annotations

import re

_NAMES = re.compile(
    r"passw(?:or)?d|passphrase|pwd|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|account[_-]?key|auth[_-]?key|encryption[_-]?key"
)
_LOOSE = ("passw", "passp", "pwd")
"""Whose value is a secret however simple it is, where it is assigned as in a file of settings."""
_ASSIGNED = re.compile(r"(?P<end>\w{0,24}\\?[\"']?)[ \t]{0,4}(?P<by>:|=>?)[ \t]{0,4}(?P<quote>\\?[\"'])?")
_ABOUT = ("_id", "_env", "_file", "_path", "_name", "s", "_limit", "_type", "_url")
"""Ends of names that hold no secret but tell of one: many tokens, the name of a variable, a file."""
_QUOTED = re.compile(r"[^\r\n\"'\\]{6,300}(?=\\?[\"'])")
_BARE = re.compile(r"[^\s\"'\\,;(){}\[\]<>&|]{6,}")
_NO_SECRET = re.compile(
    r"(?:\$|<|\{|%\(|\[redacted\]|\*{3}|x{4}|\.{3}|your[_-]|example|changeme|placeholder|dummy"
    r"|os\.|process\.env|none\b|null\b|true\b|false\b|self\.|sha\d+:)",
    re.IGNORECASE,
)
_DIGEST = re.compile(
    r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|\d+(?:\.\d+)?|[\w./-]+\.(?:py|js|ts|json|md|toml|txt|go|rs)"
)
_BEARER = re.compile(r"(?i)\b(bearer\s{1,4}|basic\s{1,4})(?=[A-Za-z+/._~-]{0,200}\d)[A-Za-z0-9+/._~-]{16,}={0,2}")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|x-api-key|x-auth-token|api-key)(\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?)(?:(bearer|basic|token|digest)\s+)?+(?![$<{\[])[^\s\"'\\]+"
)
_COOKIE = re.compile(r"(?i)\b((?:set-)?cookie\\?[\"']?\s{0,4}:\s{0,4}\\?[\"']?)(?=[^\r\n\"']{0,4000}=)[^\r\n\"'\\]{8,}")
_LOGIN = re.compile(
    r"((?::|\\)/{1,2}(?:\\?/)?)(?![$<{])[^\s/@:\"'<>\\]{0,200}:(?![$<{]|\[redacted\])[^\s/@\"'<>\\]{1,200}(?=@)"
)
_NETRC = re.compile(
    r"(?i)\b(machine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+|login\s+\S{1,200}\s+password\s+)(?!\[redacted\])\S+"
)


def without_given(text: str, mark: str) -> str:
    """The text with `mark` in place of each secret that it gives."""
    lower = text.lower()
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1{mark}", text)
    if "authorization" in lower or "api-key" in lower or "auth-token" in lower:
        text = _HEADER.sub(lambda found: f"{found[1]}{found[2]}{mark}", text)
    if "cookie" in lower:
        text = _COOKIE.sub(rf"\1{mark}", text)
    if "@" in text:
        text = _LOGIN.sub(rf"\1{mark}", text)
    if "login" in lower:
        text = _NETRC.sub(rf"\1{mark}", text)
    return _assigned(text, mark)


def holds_given(text: str) -> bool:
    """Whether the text gives one that would open something: what a header's example shows does not count."""
    lower = text.lower()
    return (
        ("earer" in text and _BEARER.search(text) is not None)
        or ("@" in text and _LOGIN.search(text) is not None)
        or ("login" in lower and _NETRC.search(text) is not None)
        or _assigned(text, "") != text
    )


def _assigned(text: str, mark: str) -> str:
    """Without what is assigned to the name of a secret."""
    lower = "".join(char.lower() if char.isascii() else char for char in text) if not text.isascii() else text.lower()
    parts, done = [], 0
    for found in _NAMES.finditer(lower):
        if found.start() < done:
            continue
        hit = _ASSIGNED.match(text, found.end())
        span = None if hit is None else _value(text, hit, found[0].startswith(_LOOSE))
        if span is not None:
            parts += [text[done : span[0]], mark]
            done = span[1]
    return "".join([*parts, text[done:]]) if parts else text


def _value(text: str, hit: re.Match[str], loose: bool) -> tuple[int, int] | None:
    """Where the assigned secret stands, if what is assigned is one."""
    if (
        hit["end"]
        .lower()
        .rstrip("\\\"'")
        .endswith(("_id", "_env", "_file", "_path", "_name", "s", "_limit", "_type", "_url"))
    ):
        return None  # many tokens, the name of a variable, a file
    found = (_QUOTED if hit["quote"] else _BARE).match(text, hit.end())
    if found is None or _NO_SECRET.match(found[0]) or _DIGEST.fullmatch(found[0]):
        return None
    value = found[0]
    if value.startswith(("/", "~", "./")) or _NAMES.fullmatch(value.lower()):
        return None  # a path, or the name over again
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    if hit["quote"]:
        return found.span() if loose or (" " not in value and (mixed or len(value) >= 20)) else None
    if mixed and len(value) >= 8 and "." not in value[:-1]:
        return found.span()
    # `PASSWORD=correcthorse`, but not `password=getpass()`
    settings = loose and text[hit.end() - 1] == "=" and not text.startswith(("(", "["), found.end())
    return found.span() if settings and "." not in value else None
