from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path

import pytest

from sandboxes.child import Child
from sandboxes.process import ProcessSandbox
from sandboxes.sandbox import BoxSpec, Command, Ending
from sandboxes.streams import CappedFile, Streams
from tests.support.waiting import PATIENCE_S


def full(self: CappedFile, data: bytes) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def settled(child: Child) -> None:
    await asyncio.wait({child.end}, timeout=PATIENCE_S)
    await child.drain()


async def test_output_that_arrives_is_no_trouble(tmp_path: Path) -> None:
    child = Child(["/bin/echo", "hi"], env={}, cwd=tmp_path, streams=Streams(tmp_path, 1, 100))
    await settled(child)
    assert child.trouble == ""
    assert (tmp_path / "run-1.stdout").read_bytes() == b"hi\n"


async def test_output_that_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CappedFile, "write", full)
    child = Child(["/bin/echo", "hi"], env={}, cwd=tmp_path, streams=Streams(tmp_path, 1, 100))
    await settled(child)
    assert child.trouble == "the command's output cannot be kept: No space left on device"


async def test_a_process_that_does_not_go_away_is_told(tmp_path: Path) -> None:
    child = Child(["/bin/sleep", "60"], env={}, cwd=tmp_path, streams=Streams(tmp_path, 1, 100))
    try:
        assert "does not go away" in child.trouble
    finally:
        child.kill()
        await settled(child)


async def test_a_run_whose_output_is_lost_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CappedFile, "write", full)
    async with ProcessSandbox(owner="me").open(BoxSpec("a-1", tmp_path / "a-1", 0.0)) as box:
        ended = await box.run(Command(("/bin/echo", "hi"), {}, PATIENCE_S))
    assert (ended.ending, ended.exit_code) == (Ending.LOST, None)
    assert "No space left" in ended.detail
