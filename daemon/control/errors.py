"""What may come back instead of an answer."""

from __future__ import annotations

from typing import Literal, get_args

ErrorKind = Literal["bad-request", "not-found", "not-allowed", "too-large", "refused", "internal"]
"""`refused`: the daemon understood, and says why it will not; the others are faults of whoever asked, or its own."""
KINDS: frozenset[str] = frozenset(get_args(ErrorKind))
STATUS: dict[ErrorKind, int] = {
    "bad-request": 400,
    "not-found": 404,
    "not-allowed": 405,
    "refused": 409,
    "too-large": 413,
    "internal": 500,
}


class ControlError(Exception):
    """A daemon could not be asked, or did not do what was asked; `str()` is one line with the remedy."""


class NoDaemonError(ControlError):
    """No daemon answers for this project."""


class RefusedError(ControlError):
    """The daemon says why it will not."""
