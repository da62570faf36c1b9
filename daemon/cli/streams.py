"""The three standard streams, made safe before anything else is opened.

Invariant afterwards: descriptors 0 to 2 are taken, so no journal, lock or socket can ever be opened as one of them and
receive what was meant for a terminal; and printing never ends a run for want of a stream or a character.
"""

from __future__ import annotations

import io
import os
import sys


def secure_streams() -> None:
    """Put the null device where a stream was closed by whoever started this, and tolerate any locale."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free one: this
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", encoding="utf-8", closefd=False))  # noqa: SIM115 - for good
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a locale that lacks a character must not end a run
