"""Gives memory back once work has ended: a daemon waits for most of its life, and should be small meanwhile."""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """Collect what nobody holds, and have the C library hand its free pages to the system (blocks for a moment)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
    if trim is not None:
        trim(0)
