"""The one error of publishing."""

from __future__ import annotations


class PublishError(Exception):
    """Something could not be published; `str()` is one line: what, the key or variable concerned, and the remedy."""
