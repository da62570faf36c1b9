"""A workspace that goes on in another box, whatever an agent made of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sandboxes.carry import make_way, move_workspace, only_folders
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.rooms import box_owner, make_rooms
from sandboxes.sandbox import BoxSpec, Carried, Command, Root, SandboxError

ROOT = Root("sha256:abc", "/app", "/app", {"/output": ".root/output"}, make=("logs",))


def spec(folder: Path, name: str, **fields: object) -> BoxSpec:
    return BoxSpec("a-1", folder / name, time.time() + 60, **fields)  # type: ignore[arg-type]


def nothing(box: FakeBox, command: Command) -> FakeAnswer:
    return FakeAnswer()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What no link may lead to."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


async def test_the_workspace_goes_on_whole(tmp_path: Path) -> None:
    sandbox = FakeSandbox(nothing)
    async with sandbox.open(spec(tmp_path, "one")) as box:
        await box.write({"src/run.sh": b"#!/bin/sh\n", "key": b"k"}, modes={"key": 0o600})
        (box.workspace / "empty").mkdir()
        (box.workspace / "link").symlink_to("src/run.sh")
        await box.write({"seen.txt": b"x"}, room="out")
    async with sandbox.open(spec(tmp_path, "two", carried=Carried(tmp_path / "one"))) as box:
        await box.write({"src/new.txt": b"n"})
        found = await box.collect()
        assert found.files == {"key": b"k", "src/new.txt": b"n", "src/run.sh": b"#!/bin/sh\n"}
        assert found.modes["key"] == 0o600
        assert (box.workspace / "empty").is_dir()
        assert (box.workspace / "link").is_symlink()
        assert (await box.collect(room="out")).files == {}
    assert not (tmp_path / "one" / "workspace").exists()


async def test_where_there_was_no_box_the_workspace_is_new(tmp_path: Path) -> None:
    async with FakeSandbox(nothing).open(spec(tmp_path, "two", carried=Carried(tmp_path / "none"))) as box:
        assert (await box.collect()).files == {}


async def test_what_is_in_the_way_of_a_file_is_set_aside(tmp_path: Path, outside: Path) -> None:
    sandbox = FakeSandbox(nothing)
    async with sandbox.open(spec(tmp_path, "one")) as box:
        await box.write({"file": b"was a file", "SKILL.md/deep/er.txt": b"x", "locked/in.txt": b"x"})
        (box.workspace / "data").symlink_to(outside)
        (box.workspace / "late.csv").symlink_to(outside / "secret.txt")
        os.mkfifo(box.workspace / "pipe")
        (box.workspace / "locked").chmod(0)
    laid = dict.fromkeys(("data/in.csv", "late.csv", "file/x", "SKILL.md", "pipe/y", "locked/z/z"), b"new")
    async with sandbox.open(spec(tmp_path, "two", carried=Carried(tmp_path / "one"))) as box:
        await box.write(laid)
        assert (await box.collect()).files == {**laid, "locked/in.txt": b"x"}
    assert sorted(path.name for path in outside.iterdir()) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"


async def test_honeds_own_folders_are_cleared_whatever_stands_there(tmp_path: Path, outside: Path) -> None:
    own = ".agents/skills/demo"
    sandbox = FakeSandbox(nothing)
    for number, kind in enumerate(("files", "link", "file", "linked above", "none")):
        async with sandbox.open(spec(tmp_path, f"one-{number}")) as box:
            await box.write({"kept.txt": b"k"})
            if kind == "files":
                await box.write({f"{own}/SKILL.md": b"forged", f"{own}/extra/notes.md": b"forged"})
            elif kind == "link":
                (box.workspace / ".agents" / "skills").mkdir(parents=True)
                (box.workspace / own).symlink_to(outside)
            elif kind == "file":
                await box.write({".agents/skills": b"a file"})
            elif kind == "linked above":
                (box.workspace / ".agents").symlink_to(outside)
        carried = Carried(tmp_path / f"one-{number}", clear=(own,))
        async with sandbox.open(spec(tmp_path, f"two-{number}", carried=carried)) as box:
            assert not (box.workspace / own).exists()
            await box.write({f"{own}/SKILL.md": b"real"})
            assert (await box.collect()).files == {"kept.txt": b"k", f"{own}/SKILL.md": b"real"}
        assert (outside / "secret.txt").read_text() == "secret"


async def test_a_tree_too_deep_to_walk_is_no_obstacle(tmp_path: Path) -> None:
    sandbox = FakeSandbox(nothing)
    async with sandbox.open(spec(tmp_path, "one")) as box:
        fd = os.open(box.workspace, os.O_RDONLY)
        for name in ("SKILL.md", *["d"] * 1100):
            os.mkdir(name, dir_fd=fd)
            deeper = os.open(name, os.O_RDONLY, dir_fd=fd)
            os.close(fd)
            fd = deeper
        os.close(fd)
    async with sandbox.open(spec(tmp_path, "two", carried=Carried(tmp_path / "one", clear=("SKILL.md",)))) as box:
        await box.write({"SKILL.md": b"real"})
        assert (await box.collect()).files == {"SKILL.md": b"real"}
    await _remove_deep(tmp_path / "two" / "aside" / "0")


async def _remove_deep(folder: Path) -> None:
    """What pytest's own cleaning cannot."""
    while inner := next(iter(folder.iterdir()), None):
        target = folder.parent / "deeper"
        inner.rename(target)
        folder.rmdir()
        folder = target.rename(folder)


async def test_a_command_never_turns_a_shown_folder_into_a_link(tmp_path: Path, outside: Path) -> None:
    """An engine would show to the next command what the link leads to."""

    def plant(box: FakeBox, command: Command) -> FakeAnswer:
        shown = box.workspace / ".root" / "output"
        assert not shown.is_symlink()
        assert list(shown.iterdir()) == []
        shown.rename(box.workspace / "away")
        shown.symlink_to(outside)
        return FakeAnswer()

    sandbox = FakeSandbox(plant)
    command = Command(("true",), {}, 5)
    async with sandbox.open(spec(tmp_path, "one", root=ROOT)) as box:
        await box.run(command)
        await box.run(command)
    async with sandbox.open(spec(tmp_path, "two", root=ROOT, carried=Carried(tmp_path / "one"))) as box:
        await box.run(command)
    assert [path.name for path in outside.iterdir()] == ["secret.txt"]
    assert outside.stat().st_uid == os.geteuid()


def test_folders_that_an_agent_took_away_are_not_made_again(tmp_path: Path) -> None:
    first = make_rooms(spec(tmp_path, "one", root=ROOT), box_owner(), own_roots=True)
    (first.workspace / "logs").rmdir()
    second = make_rooms(spec(tmp_path, "two", root=ROOT, carried=Carried(first.folder)), box_owner(), own_roots=True)
    assert not (second.workspace / "logs").exists()
    assert (second.workspace / ".root" / "output").is_dir()


def test_a_workspace_that_is_a_link_does_not_go_on(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "workspace").symlink_to(outside)
    with pytest.raises(SandboxError, match="is no folder any more"):
        move_workspace(tmp_path / "workspace", tmp_path / "next")
    assert (outside / "secret.txt").exists()


def test_nothing_is_set_aside_without_need(tmp_path: Path) -> None:
    root, aside = tmp_path / "room", tmp_path / "aside"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").write_text("x")
    make_way(root, ["a/file", "a/b/new", "c/d"], aside)
    only_folders(root, ["a/b", "c"], aside)
    assert list(aside.iterdir()) == []
    assert sorted(path.name for path in (root / "a").iterdir()) == ["b", "file"]
