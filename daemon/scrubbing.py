"""Text from people's own machines, before any of it is kept: no secret, whatever its form, and nobody's name.

Stricter than `daemon.redaction`, and free to take too much: also what is only *named* a secret (`password: …`, a
cookie, the user and password of an address), home folders and e-mail addresses go. Takes time linear in the text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from pydantic import SecretStr

from daemon.redaction import REDACTED, redact, register_secret

_NAME = re.compile(r"passw(?:or)?d|passphrase|pwd|secret|token|credential|key")
_KEYS = ("api", "api_", "api-", "access", "access_", "access-", "private", "private_", "private-", "account_", "auth_")
"""What stands before `key` where it opens something."""
_KEY = re.compile(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|credential|(?:api|access|private|account|auth)[_-]?key"
    r"|authorization|cookie|dsn|connection[_-]?string)$"
)
_NO_VALUE = r"(?!\$|<|\[redacted|\d{1,9}\b|(?:none|null|true|false|str|string|int|bytes)\b|os\.environ|process\.env)"
_ASSIGNED = re.compile(
    r"(?i)(\w{3,60}(?:\\?[\"'])?\s{0,4}(?::|=>?|\bis\b)\s{0,4}(?:\\?[\"'])?)"
    rf"{_NO_VALUE}[^\s\"'\\,;(){{}}\[\]]{{4,}}"
)
_OPTION = re.compile(r"(\w{3,60}[ =])(?!\$)[^\s\"'$-][^\s\"']{3,}")
_LEAST = 6
"""Characters of a text that may hold anything to take out."""
_PLAIN = 16
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~-]{12,}={0,2}")
_COOKIE = re.compile(r"(?i)\b((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n\"']+")
_LOGIN = re.compile(r"(?<=://)[^\s/@:\"'<>]{0,200}:[^\s/@\"'<>]{1,200}(?=@)")
_BASIC_AUTH = re.compile(r"(\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,100}:)[^\s\"']+")
_HOME = re.compile(r"/(?:home|Users)/[^/\s\"'`:;,<>|]{1,64}")
_WINDOWS_HOME = re.compile(r"[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"'`:;,<>|]{1,64}")
_SLUG = re.compile(r"-(?:home|Users)-[A-Za-z0-9]{1,64}(?=-|\b)")
"""A home folder as Claude Code's folders are named after it."""
_MAILBOX = re.compile(r"[\w.+-]{1,64}\Z")
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b")


def register_environment(environ: Mapping[str, str] | None = None) -> None:
    """Never let through what an environment variable (default: the process's) named like a secret holds."""
    for name, value in (os.environ if environ is None else environ).items():
        if _KEY.search(name):
            register_secret(SecretStr(value))


def scrub(text: str) -> str:
    """The text without secrets and without names of people."""
    if len(text) < _LEAST:
        return text
    text = redact(text)
    lower = text.lower()
    text = _named(text, lower)
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
    if "cookie" in lower:
        text = _COOKIE.sub(rf"\1{REDACTED}", text)
    if "@" in text:
        text = _without_emails(_LOGIN.sub(REDACTED, text))
    if " -u" in text or " --user" in text:
        text = _BASIC_AUTH.sub(rf"\1{REDACTED}", text)
    if "home" in text or "Users" in text:
        text = _SLUG.sub("-home", _HOME.sub("~", text))
        text = _WINDOWS_HOME.sub("~", text) if "Users\\" in text else text
    return text


def _without_emails(text: str) -> str:
    parts, done, at = [], 0, text.find("@")
    while at >= 0:
        host = _HOST.match(text, at + 1)
        box = _MAILBOX.search(text, max(done, at - 64), at) if host is not None else None
        if box is not None and host is not None:
            parts += [text[done : box.start()], "[email]"]
            done = host.end()
        at = text.find("@", max(at + 1, done))
    return "".join([*parts, text[done:]]) if parts else text


def _named(text: str, lower: str) -> str:
    """Without what follows the name of a secret, as an assignment or as an option's value."""
    if len(lower) != len(text):  # a few letters of other scripts grow
        lower = "".join(char.lower() if char.isascii() else char for char in text)
    parts, done = [], 0
    for found in _NAME.finditer(lower):
        start = found.start()
        if start < done or (found[0] == "key" and not lower.endswith(_KEYS, max(0, start - 8), start)):
            continue
        hit = _ASSIGNED.match(text, start)
        if hit is None and text[max(0, start - 40) : start].rsplit(" ", 1)[-1].startswith("-"):
            hit = _OPTION.match(text, start)
        if hit is not None:
            parts += [text[done : hit.end(1)], REDACTED]
            done = hit.end()
    return "".join([*parts, text[done:]]) if parts else text


def scrub_value(value: Any) -> Any:
    """The same for parsed JSON, where a key may be what tells that its value is a secret.

    Raises `RecursionError` for what is nested too deeply.
    """
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {_key(key): _of_key(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [scrub_value(item) for item in value]
    return value


def _key(key: str) -> str:
    """A plain short word is no secret."""
    return key if len(key) < _PLAIN and key.isidentifier() else scrub(key)


def _of_key(key: str, item: Any) -> Any:
    if isinstance(item, str) and item and _KEY.search(key):
        return REDACTED
    return scrub_value(item)
