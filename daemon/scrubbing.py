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

_NAMES = r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
_SIGNS = ("pass", "pwd", "secret", "token", "key", "credential")
_KEY = re.compile(rf"(?i)(?:{_NAMES}|authorization|cookie|dsn|connection[_-]?string)$")
_ASSIGNED = re.compile(
    rf"(?i)((?:{_NAMES})\w{{0,40}}(?:\\?[\"'])?\s{{0,4}}(?::|=>?|\bis\b)\s{{0,4}}(?:\\?[\"'])?)"
    r"(?!\$|<|\[redacted|\d{1,9}\b|(?:none|null|true|false|str|string|int|bytes)\b|os\.environ|process\.env)"
    r"[^\s\"'\\,;(){}\[\]]{4,}"
)
_OPTION = re.compile(rf"(?i)(--?(?:{_NAMES})(?:[ =]))(?!\$)[^\s\"'$-][^\s\"']{{3,}}")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/._~-]{12,}={0,2}")
_COOKIE = re.compile(r"(?i)\b((?:set-)?cookie\s{0,4}:\s{0,4})[^\r\n\"']+")
_LOGIN = re.compile(r"(?<=://)[^\s/@:\"'<>]{0,200}:[^\s/@\"'<>]{1,200}(?=@)")
_BASIC_AUTH = re.compile(r"(\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,100}:)[^\s\"']+")
_HOME = re.compile(r"/(?:home|Users)/[^/\s\"'`:;,<>|]{1,64}|[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"'`:;,<>|]{1,64}")
_SLUG = re.compile(r"-(?:home|Users)-[A-Za-z0-9]{1,64}(?=-|\b)")
"""A home folder as Claude Code's folders are named after it."""
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b")


def register_environment(environ: Mapping[str, str] | None = None) -> None:
    """Never let through what an environment variable (default: the process's) named like a secret holds."""
    for name, value in (os.environ if environ is None else environ).items():
        if _KEY.search(name):
            register_secret(SecretStr(value))


def scrub(text: str) -> str:
    """The text without secrets and without names of people."""
    text = redact(text)
    lower = text.lower()
    if any(sign in lower for sign in _SIGNS):
        text = _ASSIGNED.sub(rf"\1{REDACTED}", _OPTION.sub(rf"\1{REDACTED}", text))
    if "bearer" in lower or "basic" in lower:
        text = _BEARER.sub(rf"\1 {REDACTED}", text)
    if "cookie" in lower:
        text = _COOKIE.sub(rf"\1{REDACTED}", text)
    if "@" in text:
        text = _EMAIL.sub("[email]", _LOGIN.sub(REDACTED, text))
    if " -u" in text or " --user" in text:
        text = _BASIC_AUTH.sub(rf"\1{REDACTED}", text)
    if "home" in text or "Users" in text:
        text = _SLUG.sub("-home", _HOME.sub("~", text))
    return text


def scrub_value(value: Any) -> Any:
    """The same for parsed JSON, where a key may be what tells that its value is a secret.

    Raises `RecursionError` for what is nested too deeply.
    """
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, dict):
        return {scrub(key): _of_key(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [scrub_value(item) for item in value]
    return value


def _of_key(key: str, item: Any) -> Any:
    if isinstance(item, str) and item and _KEY.search(key):
        return REDACTED
    return scrub_value(item)
