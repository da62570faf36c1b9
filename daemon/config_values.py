"""Kinds of values that several sections of honed.toml have: names of variables, web addresses.

Invariant: an address never holds a user, a query or a fragment, for a secret would go there, nor a character that is
not seen.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from skills_repo.publish.address import is_loopback

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
"""Name of an environment variable."""


def matching(pattern: re.Pattern[str], value: str, what: str) -> str:
    """The value, if the pattern matches all of it; else raises `ValueError` with `what` it must be."""
    if not pattern.fullmatch(value):
        raise ValueError(what)
    return value


def is_address(text: str) -> bool:
    """`http(s)://host[:port][/path]` and nothing else."""
    try:
        parts = urlsplit(text)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = text.isprintable() and " " not in text and not (parts.query or parts.fragment or "@" in parts.netloc)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port_ok and plain


def is_private_address(text: str) -> bool:
    """One to which a secret may be sent: nobody on the way reads it (https, or loopback)."""
    return is_address(text) and (urlsplit(text).scheme == "https" or is_loopback(urlsplit(text).hostname or ""))
