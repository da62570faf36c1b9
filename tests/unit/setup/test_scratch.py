"""One set-up at a time, and nothing half-made under a final name."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from sandboxes.image.scratch import set_up_lock, temporary_folder
from tests.support.waiting import PATIENCE_S, until


async def test_the_temporary_folder_is_gone_after_success_and_failure(tmp_path: Path) -> None:
    async with temporary_folder(tmp_path / "p") as folder:
        (folder / "x").write_text("x")
    assert not folder.exists()
    with pytest.raises(ValueError, match="boom"):
        async with temporary_folder(tmp_path / "p") as folder:
            raise ValueError("boom")
    assert list((tmp_path / "p").iterdir()) == []


async def test_renaming_completes_it(tmp_path: Path) -> None:
    async with temporary_folder(tmp_path) as folder:
        (folder / "x").write_text("x")
        folder.rename(tmp_path / "final")
    assert (tmp_path / "final" / "x").read_text() == "x"


async def test_what_a_killed_set_up_left_is_removed_but_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".tmp-dead" / "tree").mkdir(parents=True)
    (tmp_path / "96a91a65876d").mkdir()
    async with temporary_folder(tmp_path) as folder:
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([folder.name, "96a91a65876d"])


async def test_the_second_waits_and_says_so(tmp_path: Path) -> None:
    order: list[str] = []
    inside = asyncio.Event()

    async def first() -> None:
        async with set_up_lock(tmp_path, "image", order.append):
            inside.set()
            await until(lambda: order)
            order.append("first done")

    async def second() -> None:
        await inside.wait()
        async with set_up_lock(tmp_path, "image", order.append):
            order.append("second in")

    await asyncio.gather(first(), second())
    assert order == ["another set-up is at work on image: waiting for it", "first done", "second in"]


async def test_other_parts_do_not_wait(tmp_path: Path) -> None:
    said: list[str] = []
    async with set_up_lock(tmp_path, "image", said.append), set_up_lock(tmp_path, "agents", said.append):
        pass
    assert said == []


def _hold(home: Path) -> None:
    async def hold() -> None:
        async with set_up_lock(home, "image", lambda _: None):
            (home / "held").write_text("x")
            await asyncio.sleep(600)

    asyncio.run(hold())


async def test_a_killed_holder_releases_the_lock(tmp_path: Path) -> None:
    holder = multiprocessing.get_context("spawn").Process(target=_hold, args=(tmp_path,))
    await asyncio.to_thread(holder.start)
    try:
        while not (tmp_path / "held").exists():
            await asyncio.sleep(0.02)
        os.kill(holder.pid or 0, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE_S), set_up_lock(tmp_path, "image", lambda _: None):
            assert holder.pid
    finally:
        holder.kill()
        await asyncio.to_thread(holder.join)
        holder.close()
