"""Files without a name are counted where they are open, and the watch tells when a look should not wait."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandboxes.disk import DiskWatch, over_limit
from sandboxes.sandbox import MIB, Ending
from sandboxes.unlinked import unlinked_bytes


def nameless(folder: Path, size: int) -> int:
    fd = os.open(folder / "gone", os.O_CREAT | os.O_WRONLY)
    (folder / "gone").unlink()
    os.write(fd, b"x" * size)
    os.fsync(fd)
    return fd


def test_a_deleted_file_counts_once_however_often_it_is_open(tmp_path: Path) -> None:
    before = unlinked_bytes(os.getpid(), tmp_path)
    fd = nameless(tmp_path, 3 * MIB)
    again = os.dup(fd)
    try:
        assert unlinked_bytes(os.getpid(), tmp_path) - before >= 3 * MIB
        assert unlinked_bytes(os.getpid(), tmp_path) - before < 6 * MIB
    finally:
        os.close(fd)
        os.close(again)
    assert unlinked_bytes(os.getpid(), tmp_path) - before < 3 * MIB


def test_a_process_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert unlinked_bytes(2**22 + 1, tmp_path) == 0
    assert unlinked_bytes(os.getpid(), tmp_path / "missing") == 0


def test_nameless_files_are_over_the_bound(tmp_path: Path) -> None:
    assert over_limit((tmp_path,), MIB, MIB) == ""
    assert "deleted files" in over_limit((tmp_path,), MIB, MIB + 1)
    fd = nameless(tmp_path, 3 * MIB)
    try:
        stop = DiskWatch((tmp_path,), 2 * MIB, first=os.getpid)()
    finally:
        os.close(fd)
    assert stop is not None
    assert stop.ending is Ending.OVER_DISK


def test_a_look_is_due_when_room_or_inodes_fall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"f_bfree": 10_000, "f_frsize": 4096, "f_ffree": 5_000, "f_bavail": 10_000, "f_blocks": 20_000}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**told))
    watch = DiskWatch((tmp_path,), 16 * MIB)
    assert not watch.falling()
    told["f_bfree"] -= 256
    assert not watch.falling(), "a sixteenth of the bound may go"
    told["f_bfree"] -= 1
    assert watch.falling()
    assert watch() is None
    assert not watch.falling(), "it was looked at"
    told["f_ffree"] -= 257
    assert watch.falling()
