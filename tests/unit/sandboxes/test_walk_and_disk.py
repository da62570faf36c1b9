from __future__ import annotations

import errno
import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandboxes import walk as walking
from sandboxes.disk import ENTRY_BYTES, FREE_BYTES, MAX_DEPTH, over_limit
from sandboxes.sandbox import MIB
from sandboxes.walk import FOLDER_FLAGS, open_folder, walk
from tests.support.processes import descriptors


def test_walks_in_order_without_following(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "file").touch()
    (tmp_path / "a").touch()
    (tmp_path / "d").symlink_to("b")

    assert [entry.path for entry in walk(tmp_path, max_depth=9)] == ["a", "b", "d", "b/c", "b/c/file"]


def test_depth_is_told(tmp_path: Path) -> None:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)

    entries = list(walk(tmp_path, max_depth=2))

    assert [(entry.path, entry.problem) for entry in entries][-1] == ("a/b", "deeper than 2 folders")


def test_a_crowded_folder_is_read_only_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "MAX_NAMES", 3)
    for number in range(5):
        (tmp_path / f"f{number}").touch()

    entries = list(walk(tmp_path, max_depth=2))

    assert len(entries) == 4
    assert entries[-1].problem == "holds more than 3 names"


def test_a_folder_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    """The swap happens between the look at the folder and entering it."""
    (tmp_path / "room" / "folder").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").touch()

    entries = []
    for entry in walk(tmp_path / "room", max_depth=9):
        entries.append(entry)
        if entry.path == "folder" and entry.info is not None:
            (tmp_path / "room" / "folder").rmdir()
            (tmp_path / "room" / "folder").symlink_to(outside)

    assert [entry.path for entry in entries] == ["folder", "folder"]
    assert "cannot be entered" in entries[1].problem


def test_a_folder_that_vanishes_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    entries = []
    for entry in walk(tmp_path, max_depth=9):
        entries.append(entry.path)
        (tmp_path / "folder").rmdir()

    assert entries == ["folder"]


def test_open_folder_closes_what_it_opened(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    root = os.open(tmp_path, FOLDER_FLAGS)
    before = descriptors()

    os.close(open_folder(root, ("a", "b")))
    with pytest.raises(FileNotFoundError):
        open_folder(root, ("a", "missing", "b"))

    assert descriptors() == before
    os.close(root)


def test_disk_counts_allocated_blocks_of_both_rooms(tmp_path: Path) -> None:
    one, two = tmp_path / "workspace", tmp_path / "out"
    one.mkdir()
    two.mkdir()
    (one / "data").write_bytes(b"x" * MIB)
    (two / "data").write_bytes(b"x" * MIB)

    assert over_limit((one, two), 3 * MIB) == ""
    assert "2 MiB" in over_limit((one, two), 2 * MIB - 1)
    assert over_limit((one,), int(1.5 * MIB)) == ""


def test_disk_takes_a_sparse_file_for_what_it_uses(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(2**40)

    assert over_limit((tmp_path,), MIB) == ""


def test_disk_bounds_a_flood_of_empty_files(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"f{number}").touch()

    assert over_limit((tmp_path,), 10 * ENTRY_BYTES) == ""
    assert over_limit((tmp_path,), 9 * ENTRY_BYTES) != ""


def test_disk_counts_hard_links_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * MIB)
    for number in range(3):
        (tmp_path / f"l{number}").hardlink_to(tmp_path / "a")

    assert over_limit((tmp_path,), MIB + 4 * ENTRY_BYTES) == ""


def test_disk_refuses_a_tree_it_cannot_measure(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(MAX_DEPTH + 1):
        folder /= "d"
    folder.mkdir(parents=True)

    assert "deeper" in over_limit((tmp_path,), 1024 * MIB)
    assert "cannot be measured" in over_limit((tmp_path / "missing",), MIB)


def test_disk_that_is_full_is_the_hosts_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = os.statvfs(tmp_path)
    assert over_limit((tmp_path,), MIB) == ""
    left = FREE_BYTES // free.f_frsize
    for blocks, problem in ((left - 1, "the host's disk is full: make room"), (left, "")):
        found = SimpleNamespace(f_blocks=free.f_blocks, f_frsize=free.f_frsize, f_bavail=blocks)
        monkeypatch.setattr(os, "statvfs", partial(_always, found))
        assert over_limit((tmp_path,), MIB)[:34] == problem


def _always(answer: object, _: object) -> object:
    return answer


def test_a_folder_closed_to_us_cannot_hide_what_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()

    def refused(root_fd: int, parts: tuple[str, ...]) -> int:
        if parts:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_folder(root_fd, parts)

    monkeypatch.setattr(walking, "open_folder", refused)
    assert "closed: cannot be entered" in over_limit((tmp_path,), MIB)
