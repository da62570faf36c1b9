"""What nobody holds any more is given back, cycles too, and threads keep no heaps of their own."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import weakref

import pytest

from daemon.housekeeping.memory import give_back


class Held:
    """Refers to itself, so that only the collector finds it."""

    def __init__(self) -> None:
        self.itself = self
        self.much = bytearray(1_000_000)


def test_what_refers_to_itself_is_collected() -> None:
    seen = weakref.ref(Held())
    give_back()
    assert seen() is None


def test_a_c_library_that_cannot_trim_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.housekeeping.memory.ctypes.CDLL", lambda name: object())
    give_back()


HEAPS = """
import ctypes, sys, threading
from daemon.housekeeping.memory import share_one_heap

if "one" in sys.argv:
    share_one_heap()
fill = ctypes.CDLL(None).malloc
fill.restype, fill.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
homes, together = set(), threading.Barrier(4)

def allocate():
    together.wait()
    homes.add(fill(1_000) >> 26)  # a thread's own heap lies at a multiple of 64 MiB, far from the first
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(homes))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_threads_share_one_heap_once_asked_to() -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")}

    def heaps(*argv: str) -> int:
        command = [sys.executable, "-c", HEAPS, *argv]
        return int(subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout)

    assert heaps() > 1
    assert heaps("one") == 1
