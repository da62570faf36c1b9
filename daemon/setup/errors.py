"""Errors of set-up."""


class SetupError(Exception):
    """Something the main job needs could not be brought; `str()` is one line with the remedy."""
