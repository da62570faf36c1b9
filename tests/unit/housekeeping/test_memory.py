"""What nobody holds any more is given back, cycles too."""

from __future__ import annotations

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
