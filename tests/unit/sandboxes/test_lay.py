from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.lay import Owner, _parts, lay
from sandboxes.sandbox import SandboxError
from tests.support.processes import descriptors

US = Owner(os.geteuid(), os.getegid())


def test_writes_files_and_folders(tmp_path: Path) -> None:
    lay(tmp_path, {"a/b/c.txt": b"deep", "top": b"", "run.sh": b"#!/bin/sh\n"}, US)

    assert (tmp_path / "a/b/c.txt").read_bytes() == b"deep"
    assert (tmp_path / "top").read_bytes() == b""
    assert (tmp_path / "top").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755


def test_replaces_what_is_there_without_writing_through_it(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")
    room = tmp_path / "room"
    room.mkdir()
    (room / "link").symlink_to(outside)
    (room / "hard").hardlink_to(outside)
    os.mkfifo(room / "fifo")

    lay(room, {"link": b"1", "hard": b"2", "fifo": b"3"}, US)

    assert outside.read_bytes() == b"precious"
    assert [(room / name).read_bytes() for name in ("link", "hard", "fifo")] == [b"1", b"2", b"3"]
    assert not (room / "link").is_symlink()


def test_refuses_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    room = tmp_path / "room"
    room.mkdir()
    (room / "folder").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(SandboxError, match="'folder/file' into room"):
        lay(room, {"folder/file": b"x"}, US)

    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_refuses_a_file_in_a_folders_place_and_the_reverse(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()

    for path in ("file/below", "folder"):
        with pytest.raises(SandboxError, match=path):
            lay(tmp_path, {path: b"x"}, US)


@pytest.mark.parametrize("path", ["", ".", "..", "../x", "a/../x", "/abs", "a/", "//x", "nul\0", "a/.."])
def test_refuses_to_leave_before_writing_anything(tmp_path: Path, path: str) -> None:
    with pytest.raises(SandboxError, match="no path inside the room"):
        lay(tmp_path, {"aaa": b"", path: b""}, US)

    assert list(tmp_path.iterdir()) == []


@given(st.text(min_size=1, max_size=40))
def test_accepted_paths_stay_below(path: str) -> None:
    try:
        parts = _parts(path)
    except SandboxError:
        return
    assert parts
    assert all(part not in {"", ".", ".."} and "/" not in part and "\0" not in part for part in parts)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_and_new_folders_become_the_owners(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()

    lay(tmp_path, {"old/new/file": b"x"}, Owner(1000, 1001))

    for path in ("old/new", "old/new/file"):
        info = (tmp_path / path).stat()
        assert (info.st_uid, info.st_gid) == (1000, 1001)
    assert (tmp_path / "old").stat().st_uid == 0


def test_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("x")
    before = descriptors()

    lay(tmp_path, {"a/b": b"x"}, US)
    with pytest.raises(SandboxError):
        lay(tmp_path, {"a/b/c": b"x"}, US)
    with pytest.raises(SandboxError):
        lay(tmp_path, {"link/c": b"x"}, US)

    assert descriptors() == before
