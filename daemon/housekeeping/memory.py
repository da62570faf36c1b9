"""Keeps a daemon small: it waits for most of its life, and works in many short-lived threads meanwhile.

By default the C library gives threads up to eight heaps a core, and each keeps the holes that a run leaves in it: free
memory that is nobody's and is not given back. Python runs one thread at a time, so one heap serves them all.
"""

from __future__ import annotations

import ctypes
import gc

_M_ARENA_MAX = -8
"""`mallopt(3)`"""


def share_one_heap() -> None:
    """Have all threads that are yet to begin share the first one's heap; nothing where the C library is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Collect what nobody holds, and have the C library hand its free pages to the system (blocks for a moment)."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's alone
    if trim is not None:
        trim(0)
