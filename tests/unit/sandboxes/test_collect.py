from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sandboxes import collect as collecting
from sandboxes.collect import MAX_DEPTH, MAX_LINES, collect, good_name
from sandboxes.sandbox import Limits
from tests.support.processes import descriptors


def test_reads_regular_files_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"2")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "z").write_bytes(b"1")
    (tmp_path / "ä ö").write_bytes(b"")

    collected = collect(tmp_path, Limits())

    assert list(collected.files.items()) == [("a/z", b"1"), ("b", b"2"), ("ä ö", b"")]
    assert collected.skipped == ()


def test_never_opens_what_is_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "folder-link").symlink_to("/etc")
    (tmp_path / "loop").symlink_to(".")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "socket"))
    server.close()

    collected = collect(tmp_path, Limits())

    assert collected.files == {}
    assert collected.skipped == (
        "dangling: link",
        "fifo: fifo",
        "folder-link: link",
        "link: link",
        "loop: link",
        "socket: socket",
    )


def test_bad_names_are_left_out_and_shown_escaped(tmp_path: Path) -> None:
    for name in (b"new\nline", b"bad\xff", b"esc\x1b[0m", b"del\x7f", "c1\x85".encode()):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_bytes(b"x")  # noqa: PTH118

    collected = collect(tmp_path, Limits())

    assert collected.files == {}
    assert len(collected.skipped) == 5
    assert all(line.endswith(": bad name") and line.isprintable() for line in collected.skipped)


@pytest.mark.parametrize(
    ("parts", "good"),
    [(("a", "b.txt"), True), (("日本",), True), (("a\tb",), False), (("\udcff",), False), (("a", "\0"), False)],
)
def test_good_name(parts: tuple[str, ...], good: bool) -> None:
    assert good_name(parts) is good


def test_a_sparse_giant_is_refused_before_reading(tmp_path: Path) -> None:
    with (tmp_path / "giant").open("wb") as file:
        file.truncate(2**42)

    collected = collect(tmp_path, Limits())

    assert collected.files == {}
    assert "giant: too large" in collected.skipped[0]


def test_caps_hold_and_smaller_files_still_fit(tmp_path: Path) -> None:
    for name, size in (("a", 10), ("b", 11), ("c", 6), ("d", 4), ("e", 0), ("f", 0)):
        (tmp_path / name).write_bytes(b"x" * size)

    collected = collect(tmp_path, Limits(collect_files=3, collect_bytes=14, collect_file_bytes=10))

    assert list(collected.files) == ["a", "d", "e"]
    assert [line.split(" (")[0] for line in collected.skipped] == ["b: too large", "c: too much", "f: too many"]


def test_lines_about_what_was_left_out_are_bounded(tmp_path: Path) -> None:
    for number in range(MAX_LINES + 50):
        (tmp_path / f"l{number:04}").symlink_to("x")

    skipped = collect(tmp_path, Limits()).skipped

    assert len(skipped) == MAX_LINES + 1
    assert skipped[-1] == "… and 50 more"


def test_depth_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(MAX_DEPTH):
        folder /= "d"
    folder.mkdir(parents=True)
    (folder / "below").write_bytes(b"x")
    (folder.parent / "inside").write_bytes(b"x")

    collected = collect(tmp_path, Limits())

    assert [Path(path).name for path in collected.files] == ["inside"]
    assert len(collected.skipped) == 1
    assert "deeper than" in collected.skipped[0]


def test_hard_links_are_read_and_count_each_time(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345678")
    (tmp_path / "b").hardlink_to(tmp_path / "a")
    (tmp_path / "c").hardlink_to(tmp_path / "a")

    collected = collect(tmp_path, Limits(collect_bytes=16))

    assert list(collected.files) == ["a", "b"]
    assert "c: too much" in collected.skipped[0]


@pytest.mark.parametrize("change", ["grow", "shrink", "replace", "link", "fifo", "gone"])
def test_a_file_that_changes_under_our_eyes_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Between the look at a file and its reading a survivor may swap it."""
    target = tmp_path / "file"
    target.write_bytes(b"1234")
    real = collecting._read

    def swap_first(entry, expected):  # type: ignore[no-untyped-def]
        if change == "grow":
            target.write_bytes(b"12345678")
        elif change == "shrink":
            target.write_bytes(b"1")
        else:
            keep = target.rename(tmp_path / "moved")
            if change == "replace":
                target.write_bytes(b"abcd")
            elif change == "link":
                target.symlink_to(keep)
            elif change == "fifo":
                os.mkfifo(target)
        return real(entry, expected)

    monkeypatch.setattr(collecting, "_read", swap_first)
    collected = collect(tmp_path, Limits())

    assert "file" not in collected.files
    assert len(collected.skipped) == 1


def test_what_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an unprivileged honed sees a file and a folder that the agent has shut."""
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    real = os.open

    def shut(path, *args, **more):  # type: ignore[no-untyped-def]
        if path in {"file", "folder"}:
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", shut)
    skipped = collect(tmp_path, Limits()).skipped

    assert skipped == (
        "file: cannot be opened (Permission denied)",
        "folder: cannot be entered (Permission denied)",
    )


def test_leaves_no_descriptor_open(tmp_path: Path) -> None:
    for name in ("a/b/c", "d"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(b"x")
    before = descriptors()

    collect(tmp_path, Limits())

    assert descriptors() == before
