"""A task's own root: what the profile makes of it, what is laid, and who refuses it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from sandboxes.fake import FakeAnswer, FakeSandbox
from sandboxes.hardening import inner_layout, profile
from sandboxes.lay import Owner
from sandboxes.process import ProcessSandbox
from sandboxes.rooms import box_owner, make_rooms
from sandboxes.sandbox import BoxSpec, Command, Root, SandboxError

ROOT = Root("sha256:abc", "/app", "/app/site", {"/output": ".root/output"}, make=("logs/old",))


def spec(folder: Path) -> BoxSpec:
    return BoxSpec("a-1", folder / "a-1", time.time() + 60, root=ROOT)


def test_the_profile_stays_hardened_over_another_image(tmp_path: Path) -> None:
    given = spec(tmp_path)
    layout = inner_layout(given)
    made = profile(given, Command(("true",), {}, 1), image=ROOT.image, owner=Owner(1, 1), layout=layout)
    assert (layout.workspace, made.working_dir) == ("/app", "/app/site")
    room = tmp_path / "a-1" / "workspace"
    assert made.writable == {"/app": room, "/out": tmp_path / "a-1" / "out", "/output": room / ".root" / "output"}
    assert (made.network_mode, made.read_only, made.cap_drop, made.user) == ("none", True, ("ALL",), "1:1")


def test_its_folders_are_there_from_the_start(tmp_path: Path) -> None:
    rooms = make_rooms(spec(tmp_path), box_owner(), own_roots=True)
    assert (rooms.workspace / ".root" / "output").is_dir()
    assert (rooms.workspace / "logs" / "old").stat().st_uid == rooms.owner.uid


async def test_an_engine_without_images_refuses_it(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"an image of its own .*, which Docker alone can run"):
        async with ProcessSandbox(owner="x").open(spec(tmp_path)):
            pass


def test_permission_bits_are_collected_and_laid_again(tmp_path: Path) -> None:
    async def carried() -> None:
        sandbox = FakeSandbox(lambda box, command: FakeAnswer())
        async with sandbox.open(BoxSpec("a-1", tmp_path / "a-1", time.time() + 60)) as box:
            await box.write({"key": b"k", "run": b"#!/bin/sh\n", "plain": b"p"}, modes={"key": 0o4600})
            found = await box.collect()
        assert found.modes == {"key": 0o600, "run": 0o755, "plain": 0o644}

    asyncio.run(carried())
