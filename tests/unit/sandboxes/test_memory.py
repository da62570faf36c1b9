"""Whether the host had memory to spare: never said where it cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes.memory import host_roomy
from sandboxes.sandbox import GIB


def meminfo(folder: Path, total: int, free: int) -> Path:
    file = folder / "meminfo"
    file.write_text(f"MemTotal:  {total // 1024} kB\nMemFree:  1 kB\nMemAvailable:  {free // 1024} kB\n")
    return file


@pytest.mark.parametrize(("free", "roomy"), [(6, True), (5.01, True), (4.9, False), (0, False)])
def test_the_limit_and_a_tenth_of_all_must_be_free(tmp_path: Path, free: float, roomy: bool) -> None:
    assert host_roomy(4 * GIB, meminfo=meminfo(tmp_path, 10 * GIB, int(free * GIB))) is roomy


def test_of_an_engine_on_another_machine_nothing_can_be_told(tmp_path: Path) -> None:
    here = meminfo(tmp_path, 10 * GIB, 9 * GIB)
    assert host_roomy(GIB, 10 * GIB, meminfo=here)
    assert not host_roomy(GIB, 11 * GIB, meminfo=here)


@pytest.mark.parametrize("text", ["", "MemTotal:\n", "MemTotal: x kB\nMemAvailable: 1 kB\n", "MemTotal: 100 kB\n"])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "meminfo").write_text(text)
    assert not host_roomy(0, meminfo=tmp_path / "meminfo")
    assert not host_roomy(0, meminfo=tmp_path / "missing")
